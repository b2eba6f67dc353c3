// SPDX-License-Identifier: BSD-3-Clause
// sim/job/job.hpp: a job on a simulated network, from its first step to the judgement.
// In:  a setup (made by scenario.hpp from a seed, or by hand).
// Out: a result: what was wrong, in words, or nothing; counts; the hash of all that happened.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "sim/job/process.hpp"
#include "sim/job/script.hpp"
#include "sim/net/net.hpp"

namespace herald::sim {

struct Planned {
  Instant at;
  std::string what;
  std::function<void(Net&)> run;
};

struct Setup {
  std::uint64_t seed = 1;
  std::string scenario;
  NetConfig net;
  ProcessConfig process;
  Script script;
  std::vector<Planned> plan;
  // UDP may be blocked, and TCP passes: connections are cut, refused or silent at these times.
  bool tcp = false;
  std::vector<std::pair<Instant, std::function<void(TcpNet&)>>> tcp_plan;
  HostId dies = -1;  // this host, at `death`; the launcher says so at `told`
  Instant death = kNever, told = kNever;
  Instant trouble_ends{};  // when the plan has healed what it broke
  // Each process completes something within that time after trouble_ends, and the longest time that it takes
  // without any trouble; 0: not checked.
  Duration resume_within{};
  bool narrow = false;                    // a port drops long datagrams: links are probed for their size
  Duration after = milliseconds(3000);    // so long nobody may have anything left to say
  Duration limit = milliseconds(10'000);  // after that, everything is done: otherwise it is a stall
};

struct Result {
  std::vector<std::string> wrong;  // empty: all is well
  NetCounters net;
  rel::MeshCounters mesh;  // of all processes together
  rel::LaneCounters lanes;
  std::uint64_t history = 0;
  Instant finished{};  // the last process had done its last step
  std::uint64_t idle_turns = 0;
  std::uint64_t tcp_datagrams = 0, bulk_bytes = 0, bulk_resumed = 0;
  std::uint64_t parts = 0;          // calls over lanes of those concerned
  std::uint64_t most_buffered = 0;  // by one process
  bool good() const noexcept { return wrong.empty(); }
};

// The longest time for which each process of a job completed no operation.
class Waits {
 public:
  void look(Instant now, const std::vector<std::unique_ptr<Process>>& processes);
  Duration longest(std::size_t process) const noexcept { return all_[process].longest; }

 private:
  struct Wait {
    std::uint64_t completed = 0;
    Instant since{};
    Duration longest{};
  };
  std::vector<Wait> all_;
};

Result run_job(const Setup& setup, Watcher* watcher = nullptr, Waits* waits = nullptr);

// The checks of a finished job (check.cpp). Each adds to `wrong`.
using Processes = std::vector<std::unique_ptr<Process>>;
void check_contents(const Setup& setup, const Net& net, const Processes& processes,
                    std::vector<std::string>& wrong);
void check_sends(const Setup& setup, const Net& net, const Processes& processes,
                 std::vector<std::string>& wrong);
void check_leaks(const Setup& setup, const Net& net, const Processes& processes,
                 std::vector<std::string>& wrong);
void check_one_sided(const Setup& setup, const Net& net, const Processes& processes,
                     std::vector<std::string>& wrong);
void check_collectives(const Setup& setup, const Net& net, const Processes& processes,
                       std::vector<std::string>& wrong);  // check_lanes.cpp, as the next
void check_lanes(const Setup& setup, const Net& net, const Processes& processes,
                 std::vector<std::string>& wrong);

}  // namespace herald::sim
