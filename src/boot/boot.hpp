// SPDX-License-Identifier: BSD-3-Clause
// boot/boot.hpp: who am I, who are the others. One small interface before three ways of starting.
// In:  the environment that a launcher left.
// Out: rank, size, who shares this host (a hint), a key-value store with one fence, abort.
// Not thread-safe: used while the process starts and ends, and for abort, which may come from any thread.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace herald::boot {

class Boot {
 public:
  Boot() = default;
  Boot(const Boot&) = delete;
  Boot& operator=(const Boot&) = delete;
  virtual ~Boot() = default;

  virtual const char* name() const noexcept = 0;  // "alone", "pmi1", "pmix"
  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;
  virtual int app_number() const noexcept = 0;     // -1: the launcher did not say
  virtual int universe_size() const noexcept = 0;  // -1: the launcher did not say

  // Ranks that the launcher believes to be on this host, this one included, ascending. A hint only:
  // the proof of a shared host is attaching the peer's shared memory.
  virtual std::span<const int> local_ranks() const noexcept = 0;

  // Values may be any bytes and any length: the implementation encodes and cuts them as its protocol asks.
  // `put` becomes visible to `get` of all ranks after the next `fence`.
  virtual Status put(std::string_view key, std::string_view value) = 0;
  virtual Status fence() = 0;
  virtual Status get(int rank, std::string_view key, std::string& value) = 0;

  // Ask the launcher to end the whole job. Returns: the caller then leaves with _exit(code).
  virtual void abort(int code, const char* message) noexcept = 0;
  // Say goodbye. Where the engine needs a barrier before that, it is in here.
  virtual Status finalize() = 0;
  // What went wrong, in words, after a call did not return ok.
  virtual const std::string& last_error() const noexcept = 0;
};

// Chooses by the environment. Null with `why` filled when a launcher is there but cannot be spoken to, or
// when several processes were started without any PMI (they would be silent singletons).
std::unique_ptr<Boot> open(char** environment, std::string& why);

}  // namespace herald::boot
