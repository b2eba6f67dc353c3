// SPDX-License-Identifier: BSD-3-Clause
// Reductions: the predefined ones by the kernels of op/, and the program's own.
#include "mpi/coll/op.hpp"

#include "op/op.hpp"

#include <climits>

#include "calls.hpp"
#include "mpi/core/check.hpp"
#include "mpi/core/tables.hpp"

namespace herald::mpi {
namespace {

op::Kernel kernel_of(const Op& op, const Datatype& datatype) noexcept {
  return op::find(static_cast<op::Kind>(op.builtin), datatype.layout->basic());
}

const char* name_of(const Datatype& datatype) noexcept {
  return datatype.name.empty() ? "a derived datatype" : datatype.name.c_str();
}

// How many elements of its one kind an item holds; a pair is one.
std::int64_t elements_of(const type::Layout& layout) noexcept {
  const std::int64_t each = type::row_of(layout.basic()).size;
  return each == 0 ? 0 : layout.size() / each;
}

}  // namespace

// A predefined operation works on predefined datatypes, and on duplicates of them: a type that is one
// element.
int check_op(Call& call, const Op& op, const Datatype& datatype) noexcept {
  if (op.kind != Op::Kind::predefined) return MPI_SUCCESS;
  const auto kind = static_cast<op::Kind>(op.builtin);
  if (kind == op::Kind::no_op || kind == op::Kind::replace)
    return call.fail(MPI_ERR_OP, "%s is for accumulating in windows only; use another operation", op.name);
  const type::Layout& layout = *datatype.layout;
  const bool one = datatype.predefined ||
                   (layout.basic() != type::Basic::none && elements_of(layout) == 1 &&
                    layout.true_lb() == 0 && layout.extent() == type::basic_layout(layout.basic()).extent());
  if (one && kernel_of(op, datatype) != nullptr) return MPI_SUCCESS;
  return call.fail(MPI_ERR_OP,
                   "%s is not defined on %s; use a predefined datatype that it allows, or make an "
                   "operation with MPI_Op_create",
                   op.name, name_of(datatype));
}

int reduce_into(const Op& op, Datatype& datatype, const void* in, void* inout, MPI_Count count) noexcept {
  if (count <= 0) return MPI_SUCCESS;
  if (op.kind == Op::Kind::predefined) {
    const op::Kernel kernel = kernel_of(op, datatype);
    if (kernel == nullptr) return MPI_ERR_OP;
    kernel(in, inout, static_cast<std::size_t>(count));
    return MPI_SUCCESS;
  }
  MPI_Datatype handle = handle_of(&datatype);
  if (op.kind == Op::Kind::user_large) {
    reinterpret_cast<MPI_User_function_c*>(op.function)(const_cast<void*>(in), inout, &count, &handle);
    return MPI_SUCCESS;
  }
  // A function with an int length gets long arrays in pieces.
  const auto step = static_cast<std::ptrdiff_t>(datatype.layout->extent());
  auto* from = static_cast<char*>(const_cast<void*>(in));
  auto* to = static_cast<char*>(inout);
  for (MPI_Count done = 0; done < count;) {
    int piece = count - done > INT_MAX ? INT_MAX : static_cast<int>(count - done);
    const int length = piece;
    reinterpret_cast<MPI_User_function*>(op.function)(from + done * step, to + done * step, &piece, &handle);
    done += length;
  }
  return MPI_SUCCESS;
}

namespace api {

int op_create(Call& call, void* user_fn, int commute, MPI_Op* op) {
  Op* made = tables().ops.create();
  made->kind = call.large() ? Op::Kind::user_large : Op::Kind::user;
  made->function = user_fn;
  made->commutes = commute != 0;
  *op = handle_of(made);
  return MPI_SUCCESS;
}

int op_free(Call& call, MPI_Op* op) {
  Op* object = call.object(*op, {1, "op"});
  if (object == nullptr) return call.error();
  if (object->kind == Op::Kind::predefined)
    return call.fail(MPI_ERR_OP, "argument 1 (op) is %s, which cannot be freed", object->name);
  tables().ops.retire(object);
  release(object);  // collectives under way hold their own counts
  *op = MPI_OP_NULL;
  return MPI_SUCCESS;
}

int op_commutative(Call&, Op* op, int* commute) {
  *commute = op->commutes;
  return MPI_SUCCESS;
}

int reduce_local(Call& call, const void* inbuf, void* inoutbuf, MPI_Count count, Datatype* datatype, Op* op) {
  if (!datatype->committed)
    return call.fail(MPI_ERR_TYPE, "argument 4 (datatype) is not committed; call MPI_Type_commit first");
  // MPI_Reduce_local also takes the operations for accumulating in windows.
  const bool accumulate =
      op->kind == Op::Kind::predefined && (op->builtin == static_cast<int>(op::Kind::replace) ||
                                           op->builtin == static_cast<int>(op::Kind::no_op));
  if (!accumulate && check_op(call, *op, *datatype) != MPI_SUCCESS) return call.error();
  if (inbuf == MPI_IN_PLACE || inoutbuf == MPI_IN_PLACE)
    return call.fail(MPI_ERR_BUFFER, "argument %d is MPI_IN_PLACE, which means nothing here; give a buffer",
                     inbuf == MPI_IN_PLACE ? 1 : 2);
  if (count > 0 && datatype->layout->size() > 0) {
    check_buffer(call, inbuf, count, datatype, {1, "inbuf"});
    check_buffer(call, inoutbuf, count, datatype, {2, "inoutbuf"});
    if (call.failed()) return call.error();
    if (inbuf == inoutbuf)
      return call.fail(MPI_ERR_BUFFER,
                       "arguments 1 (inbuf) and 2 (inoutbuf) are the same; they must not overlap");
  }
  const int error = reduce_into(*op, *datatype, inbuf, inoutbuf, count);
  return error == MPI_SUCCESS ? error
                              : call.fail(error, "%s is not defined on %s", op->name, name_of(*datatype));
}

}  // namespace api
}  // namespace herald::mpi
