// SPDX-License-Identifier: BSD-3-Clause
// sim/job/script.hpp: what the processes of a job do: messages, receives, and for each process the steps in
// which it starts them and waits. A script is written so that every receive finds a message, whichever of
// those that fit it gets, and that no process waits for another in a circle.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/instant.hpp"
#include "base/prng.hpp"
#include "coll/table.hpp"
#include "p2p/ops.hpp"

namespace herald::sim {

struct SendSpec {
  std::int32_t from = 0, to = 0;
  std::uint64_t context = 0;
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;
  p2p::SendMode mode = p2p::SendMode::standard;
};

struct RecvSpec {
  std::int32_t at = 0;
  std::uint64_t context = 0;
  std::int32_t source = p2p::kAnySource;
  std::int32_t tag = p2p::kAnyTag;
  std::uint64_t room = 0;
  bool probed = false;  // looked for with take(), then received
};

// A communicator that has a lane.
struct LaneSpec {
  std::vector<std::int32_t> members;
  std::uint64_t name = 0;
  std::uint64_t context = 0;
};

struct CollSpec {
  std::uint32_t lane = 0;
  coll::Op op = coll::Op::barrier;
  const coll::Algorithm* algorithm = nullptr;
  std::int32_t root = 0;     // place among the members
  std::int64_t count = 0;    // items of four bytes
  std::uint32_t number = 0;  // among those of its lane
  // Parts for single members travel over the whole lane, or over one of those concerned ...
  coll::Groups groups = coll::Groups::whole;
  bool own_lane = false;  // ... that is made for this call
};

// One-sided operations of `from` on the window of `to`, between lock and unlock (one_sided.hpp).
struct EpochSpec {
  enum Kind : std::uint8_t {
    count,   // add to counters, under a shared lock
    write,   // write to the range of this process and read it back, likewise
    update,  // read and write one word, under an exclusive lock
  };
  std::int32_t from = 0, to = 0;
  Kind kind = count;
  std::uint32_t operations = 1;
};

// How an epoch begins and ends in which processes access each other's window (active_target.hpp).
enum class ActiveKind : std::uint8_t { fence, post_start };

enum class Do : std::uint8_t {
  send,          // start send `index`
  receive,       // start receive `index`; a probed one is looked for from now on
  wait_send,     // go on when send `index` is done
  wait_receive,  // likewise
  wait_all,      // all that was started
  rest,          // for `time`, making progress
  compute,       // for `time`, making none
  recall,        // cancel send `index` if it is not done with certainty
  tell,          // start send `index`, whose bytes say whether send `index` - 1 was cancelled
  open_lane,     // number `index`
  close_lane,    // likewise
  collect,       // start collective `index`
  wait_collect,  // go on when collective `index` is done
  epoch,         // start epoch `index`
  activate,      // begin the epochs of active target
  heed,          // receive `index` + 1 has brought such news of what receive `index` is for: act on it
};

struct Step {
  Do what;
  std::uint32_t index = 0;
  Duration time{};
};

struct Script {
  std::string name;
  std::vector<SendSpec> sends;
  std::vector<RecvSpec> receives;
  std::vector<LaneSpec> lanes;
  std::vector<CollSpec> collectives;
  std::vector<EpochSpec> epochs;
  std::vector<ActiveKind> active;
  std::vector<std::vector<Step>> steps;  // of each process

  std::uint64_t total_bytes() const noexcept;
  // Bytes through the interface of the busiest process, in or out.
  std::uint64_t busiest_bytes() const noexcept;
};

// Limits of a generated program.
struct ScriptLimits {
  std::int32_t processes = 2;
  std::uint32_t messages = 100;
  std::uint64_t total_bytes = 4 << 20;
  std::uint64_t largest = 1 << 20;
  std::uint32_t datagram_bytes = 1472;  // sizes around its multiples are tried
  bool any_source = true;               // not where a process dies: whom would it wait for?
  bool compute = true;
  Duration longest_pause = milliseconds(2);
};

enum class Program : std::uint8_t { random, incast, all_to_all, ping_pong, ring, flood, recall };
constexpr Program kPrograms[] = {Program::random, Program::incast, Program::all_to_all, Program::ping_pong,
                                 Program::ring,   Program::flood,  Program::recall};
const char* word(Program program) noexcept;
Script write_script(Program program, const ScriptLimits& limits, Prng& chance);

}  // namespace herald::sim
