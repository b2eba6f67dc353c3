// SPDX-License-Identifier: BSD-3-Clause
// sim/job/scenario.hpp: from a seed to a setup: a network, what goes wrong in it, and a job.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "sim/job/job.hpp"

namespace herald::sim {

enum class Trouble : std::uint8_t {
  none,
  loss1,  // of a hundred packets one is lost
  loss10,
  loss50,
  burst,  // losses in rows
  reorder,
  duplicate,
  spoil,         // wrong bits, cut ends, strangers' bytes
  replay,        // old packets come again
  storm,         // all of the above, a little
  partition,     // some hosts do not hear the others for up to five seconds
  one_way,       // likewise, but they are heard
  pause,         // a host does nothing for a while
  slow,          // processes that compute long and look seldom
  death,         // a host dies
  link,          // one of several links dies, or comes and goes
  plug,          // one of several switches loses power for a while
  small_port,    // the switch holds less than it was thought to
  small_socket,  // the receiver holds less than it was thought to
  nic_drops,     // a full interface drops, and does not say so
  refusal,       // packets are not always taken at once
  go_back_n,     // the papers' way of repair, with losses
  crowd,         // many hosts
  stolen,        // processors that hosts share are taken away, again and again
  cable,         // the only cable of a host is out and in again, six times
  replay_death,  // a host dies, and its packets are delivered again for seconds
  mtu,           // a port drops long datagrams
  flaps,         // cables out for 0.1 to 2 s each, while the job works all the time
};

struct Named {
  Trouble trouble;
  const char* name;
  const char* what;
};
std::span<const Named> troubles() noexcept;

// The same of jobs that call collectives over lanes (lane_scenario.cpp).
enum class LaneTrouble : std::uint8_t {
  none,
  loss,
  common,
  burst,
  reorder,
  duplicate,
  spoil,
  storm,
  late,          // members that come seconds later
  mute,          // the switch forwards no multicast
  deaf,          // to some ports only
  thin,          // loses 30 % of it
  flap,          // stops and returns
  death,         // a member dies
  pause,         // a host does nothing for a while
  slow,          // processes that compute long
  refusal,       // packets that are not taken at once
  small,         // little room
  crowd,         // many members
  deal,          // parts for single members, together
  stolen,        // processors that hosts share are taken away, again and again
  cable,         // the only cable of a host is out and in again, six times
  link,          // one of several links dies, or is out and in again
  replay_death,  // a member dies, and its packets are delivered again for seconds
  mtu,           // a port drops long datagrams
  flaps,         // cables out for 0.1 to 2 s each, while the job works all the time
};

struct NamedLane {
  LaneTrouble trouble;
  const char* name;
  const char* what;
};
std::span<const NamedLane> lane_troubles() noexcept;

// The way in which lanes are used, under one of these troubles, chosen by the seed.
enum class LaneWay : std::uint8_t {
  usual,
  simple,       // Simple Broadcast of paper 000
  push_pull,    // Push-Pull Broadcast of paper 000
  moves,        // lanes move to other addresses, and share them
  parts,        // lanes of some members of others; they move and share, too
  rare,         // ops that the others leave out
  fused_count,  // many short calls in which all report to one
};
struct NamedWay {
  LaneWay way;
  const char* name;
  const char* what;
};
std::span<const NamedWay> lane_ways() noexcept;
// "lanes" chooses a trouble by the seed, "lane-ways" a way, and each way a trouble: "lane-moves+lane-death"
// is one way under one trouble.
bool make_lane_setup(const std::string& scenario, std::uint64_t seed, Setup& setup);

// "mix" chooses by the seed, but never "stolen", which came later: a seed keeps its meaning; "short", or
// "short+" and one of the others, is the same with messages that go the short way where they can; "sealed",
// or "sealed+" and one of the others, with datagrams that are authenticated or encrypted; "tcp", or "tcp+"
// and one of the others, with UDP that is blocked and TCP that passes; "rma", or "rma+" and one of the
// others, with one-sided operations too. False if there is no such scenario.
bool make_setup(const std::string& scenario, std::uint64_t seed, Setup& setup);

}  // namespace herald::sim
