// SPDX-License-Identifier: BSD-3-Clause
// Split collectives: the first call does the access, the second returns its status.
#include "calls.hpp"
#include "mpi/core/status.hpp"
#include "mpi/io/access.hpp"

namespace herald::mpi::api {
namespace {

using Kind = SplitOperation::Kind;

int begin_split(Call& call, Kind kind, bool writes, Pointer pointer, File* fh, MPI_Offset offset,
                const void* buf, MPI_Count count, Datatype* type) noexcept {
  SplitOperation& split = state_of(*fh).split;
  if (split.kind != Kind::none)
    return call.fail(MPI_ERR_OTHER, "another split collective access to the file has begun and not ended");
  const Transfer transfer{fh, writes, pointer, offset, const_cast<void*>(buf), count, type};
  TransferResult result = run_together(transfer, pointer == Pointer::shared);
  if (result.failure) return fail(call, result.failure);
  split = {kind, buf, result};
  return MPI_SUCCESS;
}

int end(Call& call, Kind kind, File* fh, const void* buf, MPI_Status* status) noexcept {
  SplitOperation& split = state_of(*fh).split;
  if (split.kind != kind)
    return call.fail(MPI_ERR_OTHER, "no split collective access of this kind has begun on the file");
  if (split.buffer != buf)
    return call.fail(MPI_ERR_ARG, "argument 2 (buf) is not the buffer that the access began with");
  set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, split.result.bytes, false);
  split = {};
  return MPI_SUCCESS;
}

}  // namespace

int file_read_at_all_begin(Call& call, File* fh, MPI_Offset offset, void* buf, MPI_Count count,
                           Datatype* datatype) {
  return begin_split(call, Kind::read_at_all, false, Pointer::explicit_offset, fh, offset, buf, count,
                     datatype);
}
int file_read_at_all_end(Call& call, File* fh, void* buf, MPI_Status* status) {
  return end(call, Kind::read_at_all, fh, buf, status);
}
int file_read_all_begin(Call& call, File* fh, void* buf, MPI_Count count, Datatype* datatype) {
  return begin_split(call, Kind::read_all, false, Pointer::individual, fh, 0, buf, count, datatype);
}
int file_read_all_end(Call& call, File* fh, void* buf, MPI_Status* status) {
  return end(call, Kind::read_all, fh, buf, status);
}
int file_read_ordered_begin(Call& call, File* fh, void* buf, MPI_Count count, Datatype* datatype) {
  return begin_split(call, Kind::read_ordered, false, Pointer::shared, fh, 0, buf, count, datatype);
}
int file_read_ordered_end(Call& call, File* fh, void* buf, MPI_Status* status) {
  return end(call, Kind::read_ordered, fh, buf, status);
}
int file_write_at_all_begin(Call& call, File* fh, MPI_Offset offset, const void* buf, MPI_Count count,
                            Datatype* datatype) {
  return begin_split(call, Kind::write_at_all, true, Pointer::explicit_offset, fh, offset, buf, count,
                     datatype);
}
int file_write_at_all_end(Call& call, File* fh, const void* buf, MPI_Status* status) {
  return end(call, Kind::write_at_all, fh, buf, status);
}
int file_write_all_begin(Call& call, File* fh, const void* buf, MPI_Count count, Datatype* datatype) {
  return begin_split(call, Kind::write_all, true, Pointer::individual, fh, 0, buf, count, datatype);
}
int file_write_all_end(Call& call, File* fh, const void* buf, MPI_Status* status) {
  return end(call, Kind::write_all, fh, buf, status);
}
int file_write_ordered_begin(Call& call, File* fh, const void* buf, MPI_Count count, Datatype* datatype) {
  return begin_split(call, Kind::write_ordered, true, Pointer::shared, fh, 0, buf, count, datatype);
}
int file_write_ordered_end(Call& call, File* fh, const void* buf, MPI_Status* status) {
  return end(call, Kind::write_ordered, fh, buf, status);
}
}  // namespace herald::mpi::api
