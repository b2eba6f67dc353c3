// SPDX-License-Identifier: BSD-3-Clause
// exec/agreement.hpp: the ranks of a team agree on its collective segments, in the background.
//
//   advertise (a rank of each host tells the others where its segment is) -> attach (all tell whether they
//   have theirs) -> probe (all tell whether they can read the next rank's memory) -> Segment::open
//
// A failure at one rank is told to all. The agreement begins with the same run at every rank. That run and
// later ones use what was agreed on: blocking calls wait for it, others are deferred and begin, in their
// order, at its end. Its messages have tags that no other run can match.
#pragma once
#include <vector>

#include "exec/runner.hpp"
#include "exec/team.hpp"

namespace herald::exec {

class Agreement {
 public:
  // `settled` and `last`: see Team::agree_on_segment.
  Agreement(Team& team, Callback settled, Callback last) noexcept
      : team_(team), waiters_{settled}, last_(last) {}
  ~Agreement();
  Agreement(const Agreement&) = delete;
  Agreement& operator=(const Agreement&) = delete;

  // From here on it advances by itself. It destroys itself at the end: maybe before this returns.
  void begin() noexcept;
  void add_waiter(Callback waiter) noexcept { waiters_.push_back(waiter); }

 private:
  enum class Stage : std::uint8_t { advertise, attach, probe };
  struct Advertisement {
    std::uint64_t nonce = 0;
    Segment::Sizes sizes;
    char path[224] = {};  // empty: no segment
  };
  static bool on_turn(void* self) noexcept;
  bool advance() noexcept;
  void advertise() noexcept;
  void create_segment(const std::vector<int>& ranks) noexcept;
  bool attach() noexcept;
  bool probe() noexcept;
  // One exchange: not counted as a run, each once in the life of a team.
  void start_round(Stage stage, coll::Plan plan, const void* send, void* recv) noexcept;
  void ask_all(Stage stage, bool mine) noexcept;
  bool all_said_yes() const noexcept;
  void end(bool agreed) noexcept;

  Team& team_;
  Stage stage_ = Stage::advertise;
  Runner* round_ = nullptr;  // null: there was no memory for it
  Advertisement ad_;
  char answer_ = 0;
  std::vector<char> answers_;
  std::vector<Callback> waiters_;
  Callback last_;
};

}  // namespace herald::exec
