// SPDX-License-Identifier: BSD-3-Clause
// sim/job/check_lanes.cpp: was every collective what its definition says, and is nothing left in the lanes?
#include <algorithm>

#include "sim/job/job.hpp"

namespace herald::sim {
namespace {

constexpr std::size_t kMostWords = 12;
constexpr std::uint64_t kMostLanes = 16;  // of one process, those of parts among them

class Judge {
 public:
  Judge(const Setup& setup, const Net& net, const Processes& processes, std::vector<std::string>& wrong)
      : setup_(setup), net_(net), processes_(processes), wrong_(wrong) {}

  void judge(std::uint32_t index);

 private:
  void say(std::uint32_t index, std::int32_t member, const std::string& what) {
    const CollSpec& spec = setup_.script.collectives[index];
    if (wrong_.size() < kMostWords)
      wrong_.push_back("collective " + std::to_string(index) + " (" + coll::name_of(spec.op) + "/" +
                       spec.algorithm->name + ") at " + std::to_string(member) + ": " + what);
  }
  const Collective* run_of(std::int32_t member, std::uint32_t index) const {
    return processes_[static_cast<std::size_t>(member)]->runs().run_of(index);
  }
  void judge_barrier(std::uint32_t index);

  const Setup& setup_;
  const Net& net_;
  const Processes& processes_;
  std::vector<std::string>& wrong_;
};

// Nobody leaves before all have come.
void Judge::judge_barrier(std::uint32_t index) {
  const auto& members = setup_.script.lanes[setup_.script.collectives[index].lane].members;
  Instant last{}, first = kNever;
  for (const std::int32_t member : members) {
    last = std::max(last, run_of(member, index)->started_at);
    first = std::min(first, run_of(member, index)->done_at);
  }
  if (first < last) say(index, members[0], "one left the barrier before another had come");
}

void Judge::judge(std::uint32_t index) {
  const CollSpec& spec = setup_.script.collectives[index];
  const auto& members = setup_.script.lanes[spec.lane].members;
  const bool dying = std::find(members.begin(), members.end(), setup_.dies) != members.end();
  bool whole = true;  // all were there and all went well
  for (const std::int32_t member : members) {
    const Collective* const run = run_of(member, index);
    if (!net_.is_alive(member)) {
      whole = whole && run != nullptr && run->done() && run->status() == Status::ok;
      continue;
    }
    if (run == nullptr || !run->done()) {
      say(index, member, run == nullptr ? "was never started" : "is not done");
      whole = false;
      continue;
    }
    if (run->status() == Status::ok) continue;
    whole = false;
    if (!dying || run->status() != Status::peer_lost)
      say(index, member, "ended with status " + std::to_string(static_cast<int>(run->status())));
    else if (!processes_[static_cast<std::size_t>(member)]->core().is_gone(setup_.dies))
      say(index, member, "a peer is lost, and it is not known which");
  }
  // A member that succeeds has the right data, although others may have failed.
  for (const std::int32_t member : members) {
    const Collective* const run = run_of(member, index);
    if (!net_.is_alive(member) || run == nullptr || !run->done() || run->status() != Status::ok) continue;
    const std::string what = run->judge();
    if (!what.empty()) say(index, member, what);
  }
  if (!whole) return;
  if (spec.op == coll::Op::barrier) judge_barrier(index);
}

}  // namespace

void check_collectives(const Setup& setup, const Net& net, const Processes& processes,
                       std::vector<std::string>& wrong) {
  Judge judge(setup, net, processes, wrong);
  for (std::uint32_t i = 0; i < setup.script.collectives.size(); ++i) judge.judge(i);
}

void check_lanes(const Setup& setup, const Net& net, const Processes& processes,
                 std::vector<std::string>& wrong) {
  const rel::LanesConfig& config = setup.process.lanes;
  for (std::int32_t at = 0; at < setup.net.hosts; ++at) {
    const Process& process = *processes[static_cast<std::size_t>(at)];
    const auto say = [&](const char* what, std::uint64_t bytes) {
      if (wrong.size() < kMostWords)
        wrong.push_back("the lanes of " + std::to_string(at) + what + std::to_string(bytes) + " bytes");
    };
    const std::uint64_t beyond =
        kMostLanes * (std::uint64_t{config.datagram_bytes} + 64);  // a packet of each
    if (process.runs().most_buffered() > std::uint64_t{config.log_bytes} + config.kept_bytes + beyond)
      say(" held ", process.runs().most_buffered());
    if (net.is_alive(at) && process.lanes().buffered_bytes() != 0)
      say(" still hold ", process.lanes().buffered_bytes());
    const std::string left = net.is_alive(at) ? process.runs().leaks() : std::string{};
    if (!left.empty() && wrong.size() < kMostWords)
      wrong.push_back("the lanes of " + std::to_string(at) + ": " + left);
  }
}

}  // namespace herald::sim
