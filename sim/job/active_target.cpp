// SPDX-License-Identifier: BSD-3-Clause
#include "sim/job/active_target.hpp"

#include <algorithm>
#include <numeric>

#include "sim/job/pattern.hpp"
#include "type/build.hpp"

namespace herald::sim {
namespace {

constexpr std::uint64_t kActiveWindow = 1'000'078, kNotes = 900'000'001;
constexpr std::uint64_t kSums = 8, kMostSwaps = ActiveTarget::kMostProcesses;
constexpr std::uint64_t kRanges = kSums + kMostSwaps;
constexpr std::int64_t kGappyWords = 2, kGappyExtent = 5;

std::vector<p2p::PeerId> peers_of(std::size_t processes) {
  std::vector<p2p::PeerId> peers(processes);
  std::iota(peers.begin(), peers.end(), 0);
  return peers;
}

type::LayoutRef gappy_words() {
  type::LayoutRef block, out;
  const type::Layout& word = type::basic_layout(type::Basic::int64);
  const auto bytes = static_cast<std::int64_t>(sizeof(std::int64_t));
  if (type::contiguous(kGappyWords, word, block) != Status::ok) return {};
  if (type::resized(*block, 0, kGappyExtent * bytes, out) != Status::ok) return {};
  return out;
}

}  // namespace

// An operation of one process on the memory of another. All processes know those of all others.
struct ActiveTarget::Access {
  wire::RmaKind kind = wire::RmaKind::put;
  op::Kind op = op::Kind::replace;
  std::size_t target = 0;
  std::uint64_t at = 0, items = 1;
  bool gappy = false;
  std::uint64_t values = 0;  // seed of its data
  bool succeeds = true;      // compare_swap

  std::uint64_t words() const { return gappy ? items * kGappyWords : items; }
  std::uint64_t place(std::uint64_t word) const {
    return at + (gappy ? word / kGappyWords * kGappyExtent + word % kGappyWords : word);
  }
  Words data() const {
    Prng chance(values);
    Words out(words());
    for (std::int64_t& word : out) word = static_cast<std::int64_t>(chance.next() >> 3);
    return out;
  }
};

ActiveTarget::ActiveTarget(const Script& script, HostId me, std::uint64_t seed, p2p::Core& core,
                           rma::Endpoint& endpoint)
    : script_(script),
      me_(static_cast<std::size_t>(me)),
      processes_(script.steps.size()),
      seed_(seed),
      range_(processes_ <= 4 ? 10'000 : 500),
      core_(core),
      window_(core.services(), kActiveWindow, peers_of(processes_), me) {
  if (script_.active.empty()) return;
  memory_.resize(kRanges + 2 * processes_ * range_);
  model_.assign(processes_, memory_);
  gappy_ = gappy_words();
  endpoint.add(window_);
  window_.target.memory().set(memory_.data(), memory_.size() * sizeof memory_[0]);
}

// Every process accesses all others after a fence, and some of them after MPI_Win_start.
bool ActiveTarget::accesses(std::size_t origin, std::size_t target) const {
  if (origin == target) return false;
  return is_fence() ||
         Prng(pattern_seed(seed_, 7'000'000 + (epoch_ * kMostProcesses + origin) * kMostProcesses + target))
                 .below(3) != 0;
}

// Ranges that are written in one epoch are read in the next.
std::vector<ActiveTarget::Access> ActiveTarget::accesses_of(std::size_t origin) const {
  Prng chance(pattern_seed(seed_, 8'000'000 + epoch_ * kMostProcesses + origin));
  std::vector<Access> all;
  const auto range_at = [&](std::size_t process, std::size_t epoch) {
    return kRanges + (epoch % 2 * processes_ + process) * range_;
  };
  for (std::size_t target = 0; target < processes_; ++target) {
    if (!accesses(origin, target)) continue;
    for (std::uint64_t n = chance.below(6); n != 0; --n) {
      Access one;
      one.target = target;
      one.values = chance.next();
      one.gappy = chance.below(3) == 0;
      const std::uint64_t most = chance.below(6) == 0 ? range_ : 40, unit = one.gappy ? kGappyExtent : 1;
      one.items = 1 + chance.below(most / unit);
      const std::uint64_t at = chance.below(range_ - one.items * unit + 1), what = chance.below(8);
      one.at = range_at(origin, epoch_) + at;
      if (what < 2) {
        one.kind = wire::RmaKind::get;
        one.at = range_at(static_cast<std::size_t>(chance.below(processes_)), epoch_ + 1) + at;
      } else if (what == 2) {
        one.kind = wire::RmaKind::accumulate;
        one.op = op::Kind::sum;
        one.gappy = false;
        one.items = 1 + chance.below(kSums);
        one.at = chance.below(kSums - one.items + 1);
      } else if (what == 3) {
        one.kind = wire::RmaKind::get_accumulate;
      } else if (what == 4) {
        one.kind = wire::RmaKind::compare_swap;
        one.gappy = false;
        one.items = 1;
        one.at = kSums + origin;
        one.succeeds = chance.below(2) == 0;
      } else if (what == 5) {
        one.kind = wire::RmaKind::accumulate;
      }
      all.push_back(one);
    }
  }
  return all;
}

void ActiveTarget::apply(const Access& access, Words& memory) const {
  if (access.kind == wire::RmaKind::get || !access.succeeds) return;
  const Words data = access.data();
  for (std::uint64_t i = 0; i < data.size(); ++i) {
    std::int64_t& word = memory[access.place(i)];
    word = access.op == op::Kind::sum ? word + data[i] / 1024 : data[i];
  }
}

void ActiveTarget::operate(const Access& access) {
  Running& running = running_.emplace_back();
  running.data = access.data();
  if (access.op == op::Kind::sum)
    for (std::int64_t& word : running.data) word /= 1024;
  Words& before = model_[access.target];
  const bool swaps = access.kind == wire::RmaKind::compare_swap;
  if (access.kind != wire::RmaKind::put && access.kind != wire::RmaKind::accumulate) {
    for (std::uint64_t i = 0; i < access.words(); ++i) running.wanted.push_back(before[access.place(i)]);
    running.result.assign(access.words(), -1);
  }
  if (swaps) running.data.push_back(access.succeeds ? running.wanted[0] : running.wanted[0] + 1);
  rma::Operation operation;
  operation.kind = access.kind;
  operation.op = access.op;
  operation.basic = type::Basic::int64;
  const auto bytes_of = [](Words& words) {
    return type::Cursor::bytes(words.data(), words.size() * sizeof words[0]);
  };
  if (access.kind != wire::RmaKind::get) operation.data = bytes_of(running.data);
  if (!running.result.empty()) operation.result = bytes_of(running.result);
  const type::Layout& layout = access.gappy ? *gappy_ : type::basic_layout(type::Basic::int64);
  window_.origin.start({static_cast<int>(access.target), access.at * sizeof(std::int64_t), &layout,
                        static_cast<std::int64_t>(access.items)},
                       std::move(operation));
  // The calls of an origin take effect in order, so a later one of this epoch finds what this one left. No
  // other process writes to words that are read.
  apply(access, before);
}

void ActiveTarget::post() {
  for (std::size_t origin = 0; origin < processes_; ++origin)
    if (accesses(origin, me_)) window_.target.post_to(static_cast<int>(origin));
}

template <class Test>
bool ActiveTarget::all_targets(Test test) const {
  for (std::size_t target = 0; target < processes_; ++target)
    if (accesses(me_, target) && !test(static_cast<int>(target))) return false;
  return true;
}

bool ActiveTarget::start_accesses() {
  if (!is_fence()) {
    if (!all_targets([&](int target) { return window_.origin.is_posted(target); })) return false;
    (void)all_targets([&](int target) { return window_.origin.take_post(target), true; });
  }
  for (const Access& access : accesses_of(me_)) operate(access);
  phase_ = Phase::replies;
  return true;
}

void ActiveTarget::complete() {
  (void)all_targets([&](int target) { return window_.origin.complete(target), true; });
}

// MPI_Win_wait.
bool ActiveTarget::all_complete() {
  for (std::size_t origin = 0; origin < processes_; ++origin)
    if (accesses(origin, me_) && !window_.target.has_completed(static_cast<int>(origin))) return false;
  for (std::size_t origin = 0; origin < processes_; ++origin)
    if (accesses(origin, me_)) window_.target.take_complete(static_cast<int>(origin));
  return true;
}

// A message from each process to each other one: how many operations it has sent there, or nothing but that
// it has come.
void ActiveTarget::begin_exchange(bool counts) {
  notes_.clear();
  ++exchanges_;
  for (std::size_t peer = 0; peer < processes_; ++peer) {
    if (peer == me_) continue;
    const auto id = static_cast<std::int32_t>(peer);
    Note& note = notes_.emplace_back();
    note.sent = counts ? static_cast<std::uint32_t>(window_.origin.sent(id)) : 0;
    note.recv.context = note.send.context = kNotes;
    note.recv.tag = note.send.tag = exchanges_;
    note.recv.source = note.recv.awaited = note.send.to = id;
    note.send.source = static_cast<std::int32_t>(me_);
    note.recv.data = type::Cursor::bytes(&note.received, sizeof note.received);
    note.send.data = type::Cursor::bytes(&note.sent, sizeof note.sent);
    core_.start(note.recv);
    core_.start(note.send);
  }
}

bool ActiveTarget::is_exchanged() const {
  return std::all_of(notes_.begin(), notes_.end(),
                     [](const Note& note) { return note.recv.done && note.send.done; });
}

void ActiveTarget::pass_fence() {
  window_.origin.pass_fence();
  window_.target.pass_fence();
}

// Calls of processes that have left the fence already must not have taken effect.
void ActiveTarget::end_epoch() {
  const std::string where = " of epoch " + std::to_string(epoch_) + " at " + std::to_string(me_);
  for (const Running& running : running_)
    if (running.result != running.wanted) wrong_.push_back("a result" + where + " is wrong");
  running_.clear();
  for (std::size_t origin = 0; origin < processes_; ++origin)
    if (origin != me_)
      for (const Access& access : accesses_of(origin)) apply(access, model_[access.target]);
  const auto differs = std::mismatch(memory_.begin(), memory_.end(), model_[me_].begin()).first;
  if (differs != memory_.end())
    wrong_.push_back("after the end" + where + ", word " + std::to_string(differs - memory_.begin()) +
                     " is wrong");
  fenced_ = is_fence();
  if (fenced_) pass_fence();
  phase_ = ++epoch_ == script_.active.size() ? Phase::idle : Phase::begin;
}

bool ActiveTarget::step() {
  rma::Origin& origin = window_.origin;
  switch (phase_) {
    case Phase::idle: return false;
    case Phase::begin:
      if (is_fence() && fenced_) return start_accesses();
      phase_ = is_fence() ? Phase::opening : Phase::posting;
      is_fence() ? begin_exchange(false) : post();
      return true;
    case Phase::opening:
      if (!is_exchanged()) return false;
      pass_fence();
      return start_accesses();
    case Phase::posting: return start_accesses();
    case Phase::replies:
      if (!all_targets([&](int target) { return !origin.awaits_long_reply(target); })) return false;
      is_fence() ? begin_exchange(true) : complete();
      phase_ = is_fence() ? Phase::counting : Phase::local;
      return true;
    case Phase::counting:
      if (!is_exchanged()) return false;
      phase_ = Phase::applying;
      return true;
    case Phase::applying: {
      const auto add = [](std::uint64_t sum, const Note& note) { return sum + note.received; };
      const std::uint64_t all = std::accumulate(notes_.begin(), notes_.end(), std::uint64_t{0}, add);
      if (window_.target.applied() < all) return false;
      phase_ = Phase::local;
      return true;
    }
    case Phase::local:
      if (!all_targets([&](int target) { return origin.is_locally_complete(target); })) return false;
      if (is_fence()) begin_exchange(false);
      phase_ = is_fence() ? Phase::closing : Phase::waiting;
      return true;
    case Phase::waiting:
      if (!all_complete()) return false;
      end_epoch();
      return true;
    case Phase::closing:
      if (!is_exchanged()) return false;
      end_epoch();
      return true;
  }
  return false;
}

bool ActiveTarget::advance() {
  bool moved = false;
  while (step()) moved = true;
  return moved;
}

std::string ActiveTarget::state() const {
  if (!is_pending()) return {};
  return "  active target: epoch " + std::to_string(epoch_) + " of " + std::to_string(script_.active.size()) +
         ", phase " + std::to_string(static_cast<int>(phase_)) + "\n";
}

}  // namespace herald::sim
