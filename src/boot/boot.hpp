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

#include "base/status.hpp"

namespace herald::boot {

// The end of the job by one rank: MPI_Abort, a fatal error, or an exit without MPI_Finalize.
struct Abort {
  int code;  // as the program gave it
  const char* message;
  bool by_exit = false;
  // Launchers take the low byte as the exit status; an aborted job never looks like a success.
  int status() const noexcept { return (code & 0xff) != 0 ? code & 0xff : 1; }
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

  // Requests the end of the whole job from the launcher. Returns; the caller then calls
  // _exit(abort.status()).
  virtual void abort(const Abort& abort) noexcept = 0;
  // Disconnects from the launcher, with a barrier before it where the launcher needs one.
  virtual Status finalize() = 0;
  // A sentence about the last call that did not return ok.
  virtual const std::string& last_error() const noexcept = 0;
};

// Chooses by the environment. Null with `why` if the launcher does not answer, or if several processes were
// started without any PMI (each would be a singleton without notice).
std::unique_ptr<Boot> open(char** environment, std::string& why);

}  // namespace herald::boot
