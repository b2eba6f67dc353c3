// SPDX-License-Identifier: BSD-3-Clause
// Individual and shared file pointers, and offsets.
#include <limits>

#include "calls.hpp"
#include "mpi/coll/internal.hpp"
#include "mpi/io/file.hpp"

namespace herald::mpi {
namespace {

Failure seek_to(FileState& state, MPI_Offset offset, int whence, MPI_Offset current,
                MPI_Offset& to) noexcept {
  MPI_Offset base = 0;
  switch (whence) {
    case MPI_SEEK_SET: break;
    case MPI_SEEK_CUR: base = current; break;
    case MPI_SEEK_END:
      if (Failure failure = end_of_view(state, base)) return failure;
      break;
    default:
      return {MPI_ERR_ARG, "argument 3 (whence) is " + std::to_string(whence) +
                               "; it must be MPI_SEEK_SET, MPI_SEEK_CUR or MPI_SEEK_END"};
  }
  if (__builtin_add_overflow(base, offset, &to) || to < 0)
    return {MPI_ERR_ARG, "argument 2 (offset) is " + std::to_string(offset) +
                             ": the pointer would be before the begin of the view, or beyond 64 bits"};
  return {};
}

}  // namespace

Failure await(FileState& state, io::Question& question) noexcept {
  engine::Engine& engine = runtime().engine();
  const p2p::PeerId owner = state.coordinator.owner();
  engine.messages().send_posted();
  wait_until([&] { return question.answered || engine.peers().is_gone(owner); });
  if (question.answered) return {};
  state.coordinator.abandon(question);
  return lost_owner(state);
}

Failure lost_owner(const FileState& state) noexcept {
  const p2p::PeerId owner = state.coordinator.owner();
  return {MPI_ERR_PROC_ABORTED, "rank 0 of the file, on host " + runtime().engine().peers().host_of(owner) +
                                    ", has ended or cannot be reached"};
}

Failure fetch_add_shared(FileState& state, MPI_Offset add, MPI_Offset& was) noexcept {
  io::Question question;
  state.coordinator.fetch_add(add, question);
  Failure failure = await(state, question);
  was = question.value;
  return failure;
}

Failure store_shared(FileState& state, MPI_Offset value) noexcept {
  io::Question question;
  state.coordinator.store(value, question);
  return await(state, question);
}

Failure check_individual(const FileState& state) noexcept {
  if (!state.sequential()) return {};
  return {MPI_ERR_UNSUPPORTED_OPERATION,
          state.name + " is open with MPI_MODE_SEQUENTIAL: use the calls with the shared pointer"};
}

Failure end_of_view(FileState& state, MPI_Offset& etypes) noexcept {
  std::int64_t bytes = 0;
  if (const int error = state.storage.size(bytes)) return failure_of(error, "get the size of", state.name);
  const std::int64_t unit = state.view.etype_bytes();
  etypes = (state.view.position_at(bytes) + unit - 1) / unit;
  return {};
}

namespace api {

int file_seek(Call& call, File* fh, MPI_Offset offset, int whence) {
  FileState& state = state_of(*fh);
  MPI_Offset to = 0;
  if (Failure failure = check_individual(state)) return fail(call, failure);
  if (Failure failure = seek_to(state, offset, whence, state.position, to)) return fail(call, failure);
  state.position = to;
  return MPI_SUCCESS;
}

int file_get_position(Call& call, File* fh, MPI_Offset* offset) {
  FileState& state = state_of(*fh);
  if (Failure failure = check_individual(state)) return fail(call, failure);
  *offset = state.position;
  return MPI_SUCCESS;
}

int file_get_byte_offset(Call& call, File* fh, MPI_Offset offset, MPI_Offset* disp) {
  FileState& state = state_of(*fh);
  if (Failure failure = check_individual(state)) return fail(call, failure);
  if (offset < 0)
    return call.fail(MPI_ERR_ARG, "argument 2 (offset) is %lld; it must not be negative",
                     static_cast<long long>(offset));
  if (state.view.empty() || offset >= state.view.most_bytes() / state.view.etype_bytes())
    return call.fail(MPI_ERR_ARG, "argument 2 (offset) is beyond the largest file offset");
  *disp = state.view.offset_of(offset * state.view.etype_bytes());
  return MPI_SUCCESS;
}

int file_get_position_shared(Call& call, File* fh, MPI_Offset* offset) {
  MPI_Offset now = 0;
  if (Failure failure = fetch_add_shared(state_of(*fh), 0, now)) return fail(call, failure);
  *offset = now;
  return MPI_SUCCESS;
}

// All ranks have come before the pointer moves, and it has moved before one of them goes on.
int file_seek_shared(Call& call, File* fh, MPI_Offset offset, int whence) {
  FileState& state = state_of(*fh);
  Failure mine;
  if (state.sequential())
    mine = {MPI_ERR_UNSUPPORTED_OPERATION, state.name + " is open with MPI_MODE_SEQUENTIAL: it has no seek"};
  if (Failure failure = agree_on(*fh, mine, offset, "2 (offset)")) return fail(call, failure);
  if (Failure failure = agree_on(*fh, mine, whence, "3 (whence)")) return fail(call, failure);
  if (fh->comm->rank == 0) {
    MPI_Offset now = 0, to = 0;
    mine = fetch_add_shared(state, 0, now);
    if (!mine) mine = seek_to(state, offset, whence, now, to);
    if (!mine) mine = store_shared(state, to);
  }
  return fail(call, agree(*fh, mine));
}

}  // namespace api
}  // namespace herald::mpi
