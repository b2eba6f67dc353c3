// SPDX-License-Identifier: BSD-3-Clause
// MPI_File_open, MPI_File_close, MPI_File_delete.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "calls.hpp"
#include "mpi/coll/internal.hpp"
#include "mpi/comm/comm.hpp"
#include "mpi/core/errors.hpp"
#include "mpi/core/tables.hpp"
#include "mpi/io/steps.hpp"

namespace herald::mpi {
namespace {

io::Coordinators& coordinators() noexcept {
  static auto& all = *new io::Coordinators(runtime().engine().messages().services(),
                                           [] { runtime().engine().wake_waiters(); });
  return all;
}

// Programs may name the file system before the path, as ROMIO lets them.
std::string path_of(const char* name) noexcept {
  for (const char* prefix : {"ufs:", "nfs:", "xfs:", "lustre:", "gpfs:", "panfs:", "pvfs2:", "testfs:"})
    if (std::strncmp(name, prefix, std::strlen(prefix)) == 0) return name + std::strlen(prefix);
  return name;
}

Failure check_amode(int amode) noexcept {
  constexpr int kKnown = MPI_MODE_APPEND | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_EXCL |
                         MPI_MODE_RDONLY | MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL | MPI_MODE_UNIQUE_OPEN |
                         MPI_MODE_WRONLY;
  const int ways = ((amode & MPI_MODE_RDONLY) != 0 ? 1 : 0) + ((amode & MPI_MODE_RDWR) != 0 ? 1 : 0) +
                   ((amode & MPI_MODE_WRONLY) != 0 ? 1 : 0);
  const auto wrong = [](const char* why) {
    return Failure{MPI_ERR_AMODE, std::string("argument 3 (amode) ") + why};
  };
  if ((amode & ~kKnown) != 0) return wrong("has bits that are no mode of a file");
  if (ways != 1) return wrong("must have one of MPI_MODE_RDONLY, MPI_MODE_RDWR and MPI_MODE_WRONLY");
  if ((amode & MPI_MODE_RDONLY) != 0 && (amode & (MPI_MODE_CREATE | MPI_MODE_EXCL)) != 0)
    return wrong("has MPI_MODE_RDONLY, which does not go with MPI_MODE_CREATE or MPI_MODE_EXCL");
  if ((amode & MPI_MODE_RDWR) != 0 && (amode & MPI_MODE_SEQUENTIAL) != 0)
    return wrong("has MPI_MODE_SEQUENTIAL, which does not go with MPI_MODE_RDWR");
  return {};
}

int flags_of(int amode, bool creates) noexcept {
  int flags = (amode & MPI_MODE_RDONLY) != 0 ? O_RDONLY : (amode & MPI_MODE_WRONLY) != 0 ? O_WRONLY : O_RDWR;
  if (creates && (amode & MPI_MODE_CREATE) != 0) flags |= O_CREAT;
  if (creates && (amode & MPI_MODE_EXCL) != 0) flags |= O_EXCL;
  return flags;
}

// Rank 0 opens, and perhaps creates, the file; then the others open it too, and all compare what they have.
class Opener {
 public:
  Opener(Call& call, Comm& comm, const char* filename, int amode, const Info* info) noexcept
      : call_(call), comm_(comm), path_(path_of(filename)), amode_(amode), info_(info) {}

  File* open() noexcept {
    First first{};
    if (comm_.rank == 0) {
      first.context = propose_context();
      first.host = host();
    }
    make(first.context);
    Failure mine = check_amode(amode_);
    if (comm_.rank == 0) {
      if (!mine) mine = open_here(true);
      first.failed = mine ? 1 : 0;
      first.identity = identity_;
    }
    if (comm_.size > 1) {
      const int error = bcast_bytes(comm_, &first, sizeof first, 0);
      if (error != MPI_SUCCESS) return drop({error, "a rank of the communicator has ended"});
      if (comm_.rank != 0) join(first, mine);
    }
    mine = agree_on(*file_, mine, amode_, "3 (amode)");
    return mine ? drop(mine) : finish();
  }

 private:
  struct First {
    std::uint64_t context;
    path::FileIdentity identity;
    std::int32_t failed, host;
  };

  int host() const noexcept {
    return engine::job_hosts_of(runtime().engine()).number(comm_.group->peers, comm_.rank);
  }

  // The others know the number of the file once rank 0 has told them.
  void make(std::uint64_t context) noexcept {
    if (context == 0) return;
    file_ = tables().files.create();
    file_->errhandler = file_errhandler();
    retain(file_->errhandler);
    retain(comm_.group);
    file_->comm = make_hidden_comm(comm_.group, context, comm_.errhandler, comm_.session);
    file_->state = std::make_shared<FileState>(context, *file_->comm);
    FileState& state = *file_->state;
    state.name = path_;
    state.amode = amode_;
    take_hints(state, info_);
  }

  void join(const First& first, Failure& mine) noexcept {
    make(first.context);
    if (mine || first.failed != 0) return;
    mine = open_here(false);
    const bool same_host = first.host == host();
    if (mine && !same_host)
      mine.text += "; rank 0 on another host has it open: the hosts do not share this directory";
    if (!mine && !is_same(first.identity, same_host))
      mine = {MPI_ERR_BAD_FILE, path_ + " on host " + host_name() +
                                    " is not the file that rank 0 has open: the hosts do not share this "
                                    "directory; use a path on a file system that all of them mount"};
  }

  bool is_same(const path::FileIdentity& other, bool same_host) const noexcept {
    if (identity_.inode != other.inode) return false;
    if (same_host && identity_.device != other.device) return false;
    return identity_.birth_ns == 0 || other.birth_ns == 0 || identity_.birth_ns == other.birth_ns;
  }

  Failure open_here(bool creates) noexcept {
    FileState& state = *file_->state;
    const auto permissions = static_cast<unsigned>(state.hints.file_perm != 0 ? state.hints.file_perm : 0666);
    int error = state.storage.open(path_, flags_of(amode_, creates), permissions);
    if (error == 0) created_ = creates && (amode_ & MPI_MODE_EXCL) != 0;
    if (error == 0) error = state.storage.identify(identity_);
    return failure_of(error, "open", path_);
  }

  // A file that this call has certainly created is removed again.
  File* drop(const Failure& failure) noexcept {
    (void)fail(call_, failure);
    if (created_) (void)::unlink(path_.c_str());
    if (file_ != nullptr) tables().files.destroy(file_);
    return nullptr;
  }

  File* finish() noexcept {
    FileState& state = *file_->state;
    state.system = state.storage.system();
    state.alone = comm_.size == 1 &&
                  ((amode_ & MPI_MODE_UNIQUE_OPEN) != 0 || state.hints.ds_write == io::Choice::enable);
    if ((amode_ & MPI_MODE_APPEND) == 0) return file_;
    Failure mine = end_of_view(state, state.position);
    if (!mine && comm_.rank == 0) mine = store_shared(state, state.position);
    mine = agree(*file_, mine);
    return mine ? drop(mine) : file_;
  }

  Call& call_;
  Comm& comm_;
  const std::string path_;
  const int amode_;
  const Info* info_;
  File* file_ = nullptr;
  path::FileIdentity identity_;
  bool created_ = false;
};

}  // namespace

FileState::FileState(std::uint64_t id, const Comm& comm) noexcept
    : datarep(find_datarep("native")), coordinator(coordinators(), id, comm.group->peers, comm.rank) {
  types.add(*find(MPI_BYTE));
  types.add(*find(MPI_BYTE));
  thread.set_notice([]() noexcept { runtime().engine().waiter().doorbell().ring(); });
}

namespace api {

int file_open(Call& call, Comm* comm, const char* filename, int amode, Info* info, MPI_File* fh) {
  if (comm->remote != nullptr)
    return call.fail(MPI_ERR_COMM, "argument 1 (comm) is an inter-communicator; give an intra-communicator");
  File* file = Opener(call, *comm, filename, amode, info).open();
  if (file == nullptr) return call.error();
  if (comm->rank == 0 && comm->size > 1) state_of(*file).offer.make(call);
  *fh = handle_of(file);
  return MPI_SUCCESS;
}

int file_close(Call& call, MPI_File* fh) {
  File* file = call.object(*fh, {1, "fh"});
  if (file == nullptr) return call.error();
  FileState& state = state_of(*file);
  if (state.split.kind != SplitOperation::Kind::none)
    return call.fail(MPI_ERR_OTHER, "a split collective access has begun and not ended; call its end first");
  await_background(state);
  // NFS writes back when a file is closed, and reports errors of that then.
  Failure result = agree(*file, failure_of(state.storage.close(), "close", state.name));
  if ((state.amode & MPI_MODE_DELETE_ON_CLOSE) != 0) {
    Failure mine;
    if (file->comm->rank == 0 && ::unlink(state.name.c_str()) != 0)
      mine = failure_of(errno, "delete", state.name);
    mine = agree(*file, mine);
    if (!result) result = mine;
  }
  const int error = fail(call, result);
  call.blame(static_cast<File*>(nullptr));  // the handler of the file goes with it
  tables().files.destroy(file);
  *fh = MPI_FILE_NULL;
  return error;
}

int file_delete(Call& call, const char* filename, Info*) {
  const std::string path = path_of(filename);
  if (::unlink(path.c_str()) == 0) return MPI_SUCCESS;
  return fail(call, failure_of(errno, "delete", path));
}

}  // namespace api
}  // namespace herald::mpi
