// SPDX-License-Identifier: BSD-3-Clause
// Datatypes as objects: commit and free, names, sizes, element counts of a status.
#include "mpi/type/datatype.hpp"

#include <algorithm>
#include <cstring>

#include "calls.hpp"
#include "mpi/core/attr.hpp"
#include "mpi/core/check.hpp"
#include "mpi/core/status.hpp"
#include "mpi/core/tables.hpp"
#include "type/pack.hpp"

namespace herald::mpi {

int deliver(Call& call, Status status, type::LayoutRef layout, std::shared_ptr<const Contents> contents,
            MPI_Datatype* newtype) noexcept {
  switch (status) {
    case Status::ok: break;
    case Status::no_memory: return call.fail(MPI_ERR_NO_MEM, "no memory for the new datatype");
    case Status::unsupported:
      return call.fail(MPI_ERR_UNSUPPORTED_OPERATION,
                       "the new datatype is nested more than %d deep; build it from larger pieces",
                       type::kMaxDepth);
    default:
      return call.fail(
          MPI_ERR_ARG,
          "the new datatype's size or bounds do not fit 64 bits; check counts and displacements");
  }
  Datatype* datatype = tables().datatypes.create();
  datatype->layout = std::move(layout);
  datatype->contents = std::move(contents);
  *newtype = handle_of(datatype);
  return MPI_SUCCESS;
}

bool has_array(Call& call, bool null, MPI_Count length, Arg arg) noexcept {
  if (!null || length <= 0) return true;
  return call.fail(MPI_ERR_ARG, "argument %d (%s) is a null pointer; give an array of %lld elements",
                   arg.number, arg.name, static_cast<long long>(length));
}

bool at_least(Call& call, type::Ints values, std::int64_t least, Arg arg) noexcept {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= least) continue;
    return call.fail(MPI_ERR_ARG, "argument %d (%s): element %zu is %lld; it must be at least %lld",
                     arg.number, arg.name, i, static_cast<long long>(values[i]),
                     static_cast<long long>(least));
  }
  return true;
}

namespace {

// Of a status argument; null if there is none.
const MPI_Status* given(Call& call, const MPI_Status* status) noexcept {
  if (status == nullptr) {
    (void)call.fail(MPI_ERR_ARG, "argument 1 (status) is MPI_STATUS_IGNORE; give the status of a receive");
  }
  return status;
}

// A handle passed by pointer.
Datatype* pointed(Call& call, const MPI_Datatype* handle) noexcept {
  return call.object(*handle, {1, "datatype"});
}

}  // namespace

namespace api {

int type_commit(Call& call, MPI_Datatype* datatype) {
  Datatype* object = pointed(call, datatype);
  if (object == nullptr) return call.error();
  object->committed = true;
  return MPI_SUCCESS;
}

int type_free(Call& call, MPI_Datatype* datatype) {
  Datatype* object = pointed(call, datatype);
  if (object == nullptr) return call.error();
  if (object->predefined)
    return call.fail(MPI_ERR_TYPE, "argument 1 (datatype) is predefined (%s), which cannot be freed",
                     object->name.empty() ? "without a name" : object->name.c_str());
  if (const int error = delete_attributes(call, store_of(*object)); error != MPI_SUCCESS) return error;
  tables().datatypes.retire(object);
  release(object);
  *datatype = MPI_DATATYPE_NULL;
  return MPI_SUCCESS;
}

int type_dup(Call& call, Datatype* oldtype, MPI_Datatype* newtype) {
  auto contents = std::make_shared<Contents>(MPI_COMBINER_DUP);
  contents->add(*oldtype);
  Datatype* copy = tables().datatypes.create();
  copy->layout = oldtype->layout;
  copy->committed = oldtype->committed;
  copy->contents = std::move(contents);
  if (const int error = copy_attributes(call, store_of(*oldtype), store_of(*copy)); error != MPI_SUCCESS) {
    release(copy);
    return error;
  }
  *newtype = handle_of(copy);
  return MPI_SUCCESS;
}

int type_set_name(Call&, Datatype* datatype, const char* type_name) {
  datatype->name.assign(type_name, strnlen(type_name, MPI_MAX_OBJECT_NAME - 1));
  return MPI_SUCCESS;
}

int type_get_name(Call& call, Datatype* datatype, char* type_name, int* resultlen) {
  check_pointer(call, type_name, {2, "type_name"});
  if (call.failed()) return call.error();
  const char* name = datatype == nullptr ? "MPI_DATATYPE_NULL" : datatype->name.c_str();
  const std::size_t length = std::strlen(name);
  std::memcpy(type_name, name, length + 1);
  *resultlen = static_cast<int>(length);
  return MPI_SUCCESS;
}

int type_size(Call&, Datatype* datatype, MPI_Count* size) {
  *size = datatype->layout->size();
  return MPI_SUCCESS;
}

int type_get_extent(Call&, Datatype* datatype, MPI_Count* lb, MPI_Count* extent) {
  *lb = datatype->layout->lb();
  *extent = datatype->layout->extent();
  return MPI_SUCCESS;
}

int type_get_true_extent(Call&, Datatype* datatype, MPI_Count* true_lb, MPI_Count* true_extent) {
  *true_lb = datatype->layout->true_lb();
  *true_extent = datatype->layout->true_extent();
  return MPI_SUCCESS;
}

int get_address(Call&, const void* location, MPI_Aint* address) {
  *address = reinterpret_cast<MPI_Aint>(location);
  return MPI_SUCCESS;
}

int get_count(Call& call, const MPI_Status* status, Datatype* datatype, MPI_Count* count) {
  if (given(call, status) == nullptr) return call.error();
  const std::int64_t items =
      type::items_in(*datatype->layout, static_cast<std::uint64_t>(status_bytes(*status)));
  *count = items < 0 ? MPI_UNDEFINED : items;
  return MPI_SUCCESS;
}

int get_elements(Call& call, const MPI_Status* status, Datatype* datatype, MPI_Count* count) {
  if (given(call, status) == nullptr) return call.error();
  const std::int64_t elements =
      type::elements_in(*datatype->layout, static_cast<std::uint64_t>(status_bytes(*status)));
  *count = elements < 0 ? MPI_UNDEFINED : elements;
  return MPI_SUCCESS;
}

int status_set_elements(Call& call, MPI_Status* status, Datatype* datatype, MPI_Count count) {
  if (given(call, status) == nullptr) return call.error();
  if (count < 0)
    return call.fail(MPI_ERR_COUNT, "argument 3 (count) is %lld; it must not be negative",
                     static_cast<long long>(count));
  const std::int64_t bytes = type::bytes_of_elements(*datatype->layout, count);
  if (bytes < 0) return call.fail(MPI_ERR_COUNT, "argument 3 (count) is more than 64 bits of bytes");
  set_status_bytes(*status, bytes);
  return MPI_SUCCESS;
}

}  // namespace api
}  // namespace herald::mpi
