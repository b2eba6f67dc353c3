// SPDX-License-Identifier: BSD-3-Clause
// boot/boot.hpp: the process manager as the library sees it: one small interface to PMI-1, PMIx and
// singletons. In:  the environment that a launcher set. Out: rank, size, the ranks on this host (a hint), a
// key-value store with one fence, abort. Not thread-safe: used while the process starts and ends, and for
// abort, which may come from any thread.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.hpp"

namespace herald::boot {

// The end of the job, or of some ranks of it: MPI_Abort, a fatal error, or an exit without MPI_Finalize.
struct Abort {
  int code;  // as the program gave it
  const char* message;
  bool by_exit = false;
  std::span<const int> ranks = {};  // ascending; empty: all ranks of the job
  // Launchers take the low byte as the exit status; an aborted job never looks like a success.
  int status() const noexcept { return (code & 0xff) != 0 ? code & 0xff : 1; }
};

// Set for the processes of a spawned job by Herald's mpiexec: the port where the parent's root waits.
constexpr const char* kParentPort = "HERALD_PARENT_PORT";

// One command line of MPI_Comm_spawn or MPI_Comm_spawn_multiple.
struct SpawnApp {
  std::string command;
  std::vector<std::string> arguments;
  int count = 1;
  std::vector<std::pair<std::string, std::string>> info;
};

class Boot {
 public:
  Boot() = default;
  Boot(const Boot&) = delete;
  Boot& operator=(const Boot&) = delete;
  virtual ~Boot() = default;

  virtual const char* name() const noexcept = 0;  // "alone", "pmi1", "pmix"
  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;
  virtual int app_number() const noexcept = 0;     // -1: not given by the launcher
  virtual int universe_size() const noexcept = 0;  // -1: not given by the launcher

  // Ranks on this host according to the launcher, this one included, ascending. A hint only: a host is shared
  // if the shared memory of the peer can be attached.
  virtual std::span<const int> local_ranks() const noexcept = 0;

  // Values may be any bytes and any length: the implementation encodes and splits them for its protocol.
  // `put` becomes visible to `get` of all ranks after the next `fence`.
  virtual Status put(std::string_view key, std::string_view value) = 0;
  virtual Status fence() = 0;
  virtual Status get(int rank, std::string_view key, std::string& value) = 0;

  // Names of ports, for other jobs of the same launcher. lookup: not_found if nobody has published it.
  virtual Status publish(std::string_view, std::string_view) { return refuse_names(); }
  virtual Status lookup(std::string_view, std::string&) { return refuse_names(); }
  virtual Status unpublish(std::string_view) { return refuse_names(); }

  // Starts another job, whose processes find `port` with parent_port(). not_found: a program could not be
  // started, and last_error() says why.
  virtual Status spawn(std::span<const SpawnApp>, std::string_view /*port*/) { return refuse_spawn(); }
  // Whether the job that was spawned last has ended before it connected: last_error() says how.
  virtual bool has_spawn_ended() { return false; }
  virtual std::string parent_port() { return take_parent_port(); }  // empty: this job was not spawned

  // Requests the end of the job from the launcher. Returns; the caller then calls _exit(abort.status()).
  virtual void abort(const Abort& abort) noexcept = 0;
  // Whether abort() may name ranks, and whether one has ended that way. Any other launcher ends all ranks.
  virtual bool can_abort_ranks() const noexcept { return false; }
  virtual bool has_aborted(int /*rank*/) const noexcept { return false; }
  // Disconnects from the launcher, with a barrier before it where the launcher needs one.
  virtual Status finalize() = 0;
  // A sentence about the last call that did not return ok.
  virtual const std::string& last_error() const noexcept = 0;

 protected:
  virtual Status refuse(Status status, std::string why) = 0;  // sets last_error()
  Status refuse_names();

 private:
  // The virtual functions are inline: subclasses in tests have run-time type information, this room has none.
  Status refuse_spawn();
  static std::string take_parent_port();
};

// Chooses by the environment. Null with `why` if the launcher does not answer, or if several processes were
// started without any PMI (each would be a singleton without notice).
std::unique_ptr<Boot> open(char** environment, std::string& why);

}  // namespace herald::boot
