// SPDX-License-Identifier: BSD-3-Clause
// What a file is: size, mode, group, hints, atomicity; MPI_File_sync.
#include "calls.hpp"
#include "mpi/comm/comm.hpp"
#include "mpi/core/info.hpp"
#include "mpi/io/steps.hpp"

namespace herald::mpi {
namespace {

Failure check_resize(const FileState& state, MPI_Offset size) noexcept {
  if (size < 0)
    return {MPI_ERR_ARG, "argument 2 (size) is " + std::to_string(size) + "; it must not be negative"};
  if (!state.can_write())
    return {MPI_ERR_READ_ONLY, state.name + " is open for reading only; open it with MPI_MODE_RDWR"};
  if (state.sequential())
    return {MPI_ERR_UNSUPPORTED_OPERATION,
            state.name + " is open with MPI_MODE_SEQUENTIAL: its size cannot be set"};
  return {};
}

// Rank 0 changes the file; no rank returns before.
template <class Change>
int resize(Call& call, File& file, MPI_Offset size, Change change) noexcept {
  FileState& state = state_of(file);
  Failure mine = check_resize(state, size);
  if (Failure failure = agree_on(file, mine, size, "2 (size)")) return fail(call, failure);
  if (file.comm->rank == 0) mine = failure_of(change(state.storage), "change the size of", state.name);
  return fail(call, agree(file, mine));
}

}  // namespace

void take_hints(FileState& state, const Info* info) noexcept {
  if (info == nullptr) return;
  for (const auto& [key, value] : info->entries) (void)state.hints.set(key, value);
}

namespace api {

int file_set_size(Call& call, File* fh, MPI_Offset size) {
  return resize(call, *fh, size, [size](path::File& storage) { return storage.set_size(size); });
}

int file_preallocate(Call& call, File* fh, MPI_Offset size) {
  return resize(call, *fh, size, [size](path::File& storage) { return storage.reserve(size); });
}

int file_get_size(Call& call, File* fh, MPI_Offset* size) {
  std::int64_t bytes = 0;
  FileState& state = state_of(*fh);
  if (const int error = state.storage.size(bytes))
    return fail(call, failure_of(error, "get the size of", state.name));
  *size = bytes;
  return MPI_SUCCESS;
}

int file_get_amode(Call&, File* fh, int* amode) {
  *amode = state_of(*fh).amode;
  return MPI_SUCCESS;
}

int file_get_group(Call&, File* fh, MPI_Group* group) {
  *group = hand_out(fh->comm->group);
  return MPI_SUCCESS;
}

int file_set_info(Call& call, File* fh, Info* info) {
  await_background(state_of(*fh));
  take_hints(state_of(*fh), info);
  return fail(call, agree(*fh, {}));
}

int file_get_info(Call&, File* fh, MPI_Info* info_used) {
  Info* info = new_info();
  for (const auto& [key, value] : state_of(*fh).hints.list()) info_put(*info, key.c_str(), value);
  *info_used = handle_of(info);
  return MPI_SUCCESS;
}

int file_set_atomicity(Call& call, File* fh, int flag) {
  if (Failure failure = agree_on(*fh, {}, flag != 0 ? 1 : 0, "2 (flag)")) return fail(call, failure);
  state_of(*fh).atomic = flag != 0;
  return MPI_SUCCESS;
}

int file_get_atomicity(Call&, File* fh, int* flag) {
  *flag = state_of(*fh).atomic ? 1 : 0;
  return MPI_SUCCESS;
}

int file_sync(Call& call, File* fh) {
  FileState& state = state_of(*fh);
  await_background(state);
  const Failure failure = agree(*fh, failure_of(state.storage.sync(), "synchronise", state.name));
  if (state.system == path::FileSystem::nfs) state.storage.revalidate();
  return fail(call, failure);
}

int file_get_type_extent(Call& call, File* fh, Datatype* datatype, MPI_Count* extent) {
  const type::LayoutRef layout = file_layout(*state_of(*fh).datarep, *datatype);
  if (!layout)
    return call.fail(MPI_ERR_CONVERSION, "the extent of argument 2 (datatype) in \"%s\" is not known",
                     state_of(*fh).datarep->name.c_str());
  *extent = layout->extent();
  return MPI_SUCCESS;
}

}  // namespace api
}  // namespace herald::mpi
