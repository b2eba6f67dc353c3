// SPDX-License-Identifier: BSD-3-Clause
// Split collectives: the first call starts the access, the second waits for it and returns its status and its
// errors, which are the same at all ranks.
#include <utility>

#include "calls.hpp"
#include "mpi/core/request_complete.hpp"
#include "mpi/io/work.hpp"

namespace herald::mpi::api {
namespace {

using Kind = SplitOperation::Kind;

int begin_split(Call& call, Kind kind, bool writes, Pointer pointer, File* fh, MPI_Offset offset,
                const void* buf, MPI_Count count, Datatype* type) noexcept {
  SplitOperation& split = state_of(*fh).split;
  if (split.kind != Kind::none)
    return call.fail(MPI_ERR_OTHER, "another split collective access to the file has begun and not ended");
  const Transfer transfer{fh, writes, pointer, offset, const_cast<void*>(buf), count, type};
  split = {kind, buf, start_together(transfer, pointer == Pointer::shared)};
  return MPI_SUCCESS;
}

int end(Call& call, Kind kind, File* fh, const void* buf, MPI_Status* status) noexcept {
  SplitOperation& split = state_of(*fh).split;
  if (split.kind != kind)
    return call.fail(MPI_ERR_OTHER, "no split collective access of this kind has begun on the file");
  if (split.buffer != buf)
    return call.fail(MPI_ERR_ARG, "argument 2 (buf) is not the buffer that the access began with");
  wait_for(*split.request);
  Request* request = std::exchange(split, {}).request;
  MPI_Request handle = handle_of(request);
  return complete(call, request, &handle, status);
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
