// SPDX-License-Identifier: BSD-3-Clause
// The data access calls: each names its transfer and how it is completed.
#include "calls.hpp"
#include "mpi/core/status.hpp"
#include "mpi/io/access.hpp"
#include "mpi/io/work.hpp"

namespace herald::mpi::api {
namespace {

Transfer read_by(Pointer pointer, File* fh, MPI_Offset offset, void* buf, MPI_Count count,
                 Datatype* type) noexcept {
  return {fh, false, pointer, offset, buf, count, type};
}
Transfer write_by(Pointer pointer, File* fh, MPI_Offset offset, const void* buf, MPI_Count count,
                  Datatype* type) noexcept {
  return {fh, true, pointer, offset, const_cast<void*>(buf), count, type};  // only read
}

int finish(Call& call, const TransferResult& result, MPI_Status* status) noexcept {
  set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, result.bytes, false);
  return fail(call, result.failure);
}
int alone(Call& call, const Transfer& transfer, MPI_Status* status) noexcept {
  return finish(call, run_alone(transfer), status);
}
int together(Call& call, const Transfer& transfer, MPI_Status* status) noexcept {
  return finish(call, run_together(transfer, false), status);
}
int ordered(Call& call, const Transfer& transfer, MPI_Status* status) noexcept {
  return finish(call, run_together(transfer, true), status);
}
int start_all(const Transfer& transfer, MPI_Request* request) noexcept {
  *request = handle_of(start_together(transfer, false));
  return MPI_SUCCESS;
}

}  // namespace

int file_read_at(Call& call, File* fh, MPI_Offset offset, void* buf, MPI_Count count, Datatype* datatype,
                 MPI_Status* status) {
  return alone(call, read_by(Pointer::explicit_offset, fh, offset, buf, count, datatype), status);
}
int file_read(Call& call, File* fh, void* buf, MPI_Count count, Datatype* datatype, MPI_Status* status) {
  return alone(call, read_by(Pointer::individual, fh, 0, buf, count, datatype), status);
}
int file_read_shared(Call& call, File* fh, void* buf, MPI_Count count, Datatype* datatype,
                     MPI_Status* status) {
  return alone(call, read_by(Pointer::shared, fh, 0, buf, count, datatype), status);
}
int file_read_at_all(Call& call, File* fh, MPI_Offset offset, void* buf, MPI_Count count, Datatype* datatype,
                     MPI_Status* status) {
  return together(call, read_by(Pointer::explicit_offset, fh, offset, buf, count, datatype), status);
}
int file_read_all(Call& call, File* fh, void* buf, MPI_Count count, Datatype* datatype, MPI_Status* status) {
  return together(call, read_by(Pointer::individual, fh, 0, buf, count, datatype), status);
}
int file_read_ordered(Call& call, File* fh, void* buf, MPI_Count count, Datatype* datatype,
                      MPI_Status* status) {
  return ordered(call, read_by(Pointer::shared, fh, 0, buf, count, datatype), status);
}
int file_iread_at(Call& call, File* fh, MPI_Offset offset, void* buf, MPI_Count count, Datatype* datatype,
                  MPI_Request* request) {
  return start_alone(call, read_by(Pointer::explicit_offset, fh, offset, buf, count, datatype), request);
}
int file_iread(Call& call, File* fh, void* buf, MPI_Count count, Datatype* datatype, MPI_Request* request) {
  return start_alone(call, read_by(Pointer::individual, fh, 0, buf, count, datatype), request);
}
int file_iread_shared(Call& call, File* fh, void* buf, MPI_Count count, Datatype* datatype,
                      MPI_Request* request) {
  return start_alone(call, read_by(Pointer::shared, fh, 0, buf, count, datatype), request);
}
int file_iread_at_all(Call&, File* fh, MPI_Offset offset, void* buf, MPI_Count count, Datatype* datatype,
                      MPI_Request* request) {
  return start_all(read_by(Pointer::explicit_offset, fh, offset, buf, count, datatype), request);
}
int file_iread_all(Call&, File* fh, void* buf, MPI_Count count, Datatype* datatype, MPI_Request* request) {
  return start_all(read_by(Pointer::individual, fh, 0, buf, count, datatype), request);
}
int file_write_at(Call& call, File* fh, MPI_Offset offset, const void* buf, MPI_Count count,
                  Datatype* datatype, MPI_Status* status) {
  return alone(call, write_by(Pointer::explicit_offset, fh, offset, buf, count, datatype), status);
}
int file_write(Call& call, File* fh, const void* buf, MPI_Count count, Datatype* datatype,
               MPI_Status* status) {
  return alone(call, write_by(Pointer::individual, fh, 0, buf, count, datatype), status);
}
int file_write_shared(Call& call, File* fh, const void* buf, MPI_Count count, Datatype* datatype,
                      MPI_Status* status) {
  return alone(call, write_by(Pointer::shared, fh, 0, buf, count, datatype), status);
}
int file_write_at_all(Call& call, File* fh, MPI_Offset offset, const void* buf, MPI_Count count,
                      Datatype* datatype, MPI_Status* status) {
  return together(call, write_by(Pointer::explicit_offset, fh, offset, buf, count, datatype), status);
}
int file_write_all(Call& call, File* fh, const void* buf, MPI_Count count, Datatype* datatype,
                   MPI_Status* status) {
  return together(call, write_by(Pointer::individual, fh, 0, buf, count, datatype), status);
}
int file_write_ordered(Call& call, File* fh, const void* buf, MPI_Count count, Datatype* datatype,
                       MPI_Status* status) {
  return ordered(call, write_by(Pointer::shared, fh, 0, buf, count, datatype), status);
}
int file_iwrite_at(Call& call, File* fh, MPI_Offset offset, const void* buf, MPI_Count count,
                   Datatype* datatype, MPI_Request* request) {
  return start_alone(call, write_by(Pointer::explicit_offset, fh, offset, buf, count, datatype), request);
}
int file_iwrite(Call& call, File* fh, const void* buf, MPI_Count count, Datatype* datatype,
                MPI_Request* request) {
  return start_alone(call, write_by(Pointer::individual, fh, 0, buf, count, datatype), request);
}
int file_iwrite_shared(Call& call, File* fh, const void* buf, MPI_Count count, Datatype* datatype,
                       MPI_Request* request) {
  return start_alone(call, write_by(Pointer::shared, fh, 0, buf, count, datatype), request);
}
int file_iwrite_at_all(Call&, File* fh, MPI_Offset offset, const void* buf, MPI_Count count,
                       Datatype* datatype, MPI_Request* request) {
  return start_all(write_by(Pointer::explicit_offset, fh, offset, buf, count, datatype), request);
}
int file_iwrite_all(Call&, File* fh, const void* buf, MPI_Count count, Datatype* datatype,
                    MPI_Request* request) {
  return start_all(write_by(Pointer::individual, fh, 0, buf, count, datatype), request);
}
}  // namespace herald::mpi::api
