// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll_agree.hpp: the ranks of a communicator agree on its collective segments, in the background: the
// first rank of each host makes one and offers it to the others there; all ranks tell whether they have
// theirs, and then whether they can read their neighbours' memory. What one of them finds wrong, all are
// told. It begins with the same call at every rank. That call and those after it go the way that is agreed
// on: who may wait does so before it begins, the others are held (coll_held.hpp) and begin, in their order,
// when it is settled. In: turns of the engine. Out: CommColl::settle. By messages that no other call can
// match.
#pragma once
#include <vector>

#include "mpi/coll_run.hpp"
#include "mpi/deferred_coll.hpp"

namespace herald::mpi {

class Agreement {
 public:
  Agreement(Comm& comm, CommColl& state) noexcept;
  ~Agreement();
  Agreement(const Agreement&) = delete;
  Agreement& operator=(const Agreement&) = delete;

  // From here on it goes on by itself, and is gone when settled: maybe before this returns.
  void begin() noexcept;
  void hold(DeferredColl& call) noexcept { held_.push_back(&call); }

 private:
  enum class Stage : std::uint8_t { offered, attached, probed };
  struct Advertise {
    std::uint64_t nonce = 0;
    std::uint64_t segment_bytes = 0, stream_bytes = 0;
    char path[224] = {};  // empty: no collective segment
  };
  static bool turn(void* self) noexcept;
  bool advance() noexcept;
  void offer() noexcept;
  bool attach() noexcept;
  bool probe() noexcept;
  void ask_all(Stage stage, bool mine) noexcept;
  bool all_said_yes() const noexcept;
  void settle(bool agreed) noexcept;

  Comm& comm_;
  CommColl& state_;
  Stage stage_ = Stage::offered;
  Execution* round_ = nullptr;  // null: there was no memory for it
  Advertise ad_;
  char answer_ = 0;
  std::vector<char> answers_;
  std::vector<DeferredColl*> held_;
};

}  // namespace herald::mpi
