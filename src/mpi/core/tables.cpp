// SPDX-License-Identifier: BSD-3-Clause
// The predefined objects of the ABI, made once and kept.
#include "mpi/core/tables.hpp"

#include "mpi/core/info.hpp"
#include "op/op.hpp"

namespace herald::mpi {
namespace {

template <class Handle>
std::uint32_t handle_number(Handle handle) noexcept {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(handle));
}

Errhandler* make_errhandler(MPI_Errhandler handle, Errhandler::Kind kind) noexcept {
  auto* errhandler = new Errhandler;
  errhandler->handle = handle_number(handle);
  errhandler->kind = kind;
  errhandler->predefined = true;
  errhandler->users = 1;
  return errhandler;
}

void make_ops() noexcept {
  static const struct {
    MPI_Op handle;
    op::Kind kind;
    const char* name;
  } kOps[] = {
      {MPI_SUM, op::Kind::sum, "MPI_SUM"},
      {MPI_MIN, op::Kind::min, "MPI_MIN"},
      {MPI_MAX, op::Kind::max, "MPI_MAX"},
      {MPI_PROD, op::Kind::prod, "MPI_PROD"},
      {MPI_BAND, op::Kind::band, "MPI_BAND"},
      {MPI_BOR, op::Kind::bor, "MPI_BOR"},
      {MPI_BXOR, op::Kind::bxor, "MPI_BXOR"},
      {MPI_LAND, op::Kind::land, "MPI_LAND"},
      {MPI_LOR, op::Kind::lor, "MPI_LOR"},
      {MPI_LXOR, op::Kind::lxor, "MPI_LXOR"},
      {MPI_MINLOC, op::Kind::minloc, "MPI_MINLOC"},
      {MPI_MAXLOC, op::Kind::maxloc, "MPI_MAXLOC"},
      {MPI_REPLACE, op::Kind::replace, "MPI_REPLACE"},
      {MPI_NO_OP, op::Kind::no_op, "MPI_NO_OP"},
  };
  for (const auto& row : kOps) {
    auto* op = new Op;
    op->handle = handle_number(row.handle);
    op->builtin = static_cast<int>(row.kind);
    op->name = row.name;
    // The order of operands matters for these two; the others commute.
    op->commutes = row.kind != op::Kind::replace && row.kind != op::Kind::no_op;
    predefined_ops[op->handle].store(op, std::memory_order_release);
  }
}

Tables* fill_tables() noexcept {
  auto* tables = new Tables;
  tables->fatal = make_errhandler(MPI_ERRORS_ARE_FATAL, Errhandler::Kind::fatal);
  tables->abort = make_errhandler(MPI_ERRORS_ABORT, Errhandler::Kind::abort);
  tables->give_back = make_errhandler(MPI_ERRORS_RETURN, Errhandler::Kind::give_back);
  tables->empty_group = new Group;
  tables->empty_group->handle = handle_number(MPI_GROUP_EMPTY);
  tables->empty_group->predefined = true;
  tables->empty_group->users = 1;
  tables->env_info = new Info;
  tables->env_info->handle = handle_number(MPI_INFO_ENV);
  fill_env_info(*tables->env_info);
  make_ops();
  make_predefined_datatypes();
  return tables;
}

}  // namespace

std::atomic<Tables*> the_tables{nullptr};
std::atomic<Datatype*> predefined_datatypes[kPredefinedDatatypes] = {};
std::atomic<Op*> predefined_ops[kPredefinedOps] = {};

Tables& make_tables() noexcept {
  static Tables& one = *fill_tables();
  the_tables.store(&one, std::memory_order_release);
  return one;
}

}  // namespace herald::mpi
