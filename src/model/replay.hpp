// SPDX-License-Identifier: BSD-3-Clause
// model/replay.hpp: the time that a whole program takes: computation as it was recorded, messages and
// collectives as the parameters say.
// In:  what each rank does, in order; how long each collective takes once its ranks have come; parameters.
// Out: when each rank ends, and where its time went.
// Contention: messages share the ports of hosts as in model/evaluator.hpp; collectives do not share them with
// others. A message goes on while its ranks compute.
#pragma once
#include <cstdint>
#include <vector>

#include "model/evaluator.hpp"

namespace herald::model {

// Which ranks of a collective wait for which.
enum class Flow : std::uint8_t { all, from_root, to_root, prefix };

struct Message {
  std::int32_t from = 0, to = 0;
  double bytes = 0;
  double scale = 1;  // of its time on the network and at the receiver
};

struct JoinedCall {
  Flow flow = Flow::all;
  std::int32_t root = -1;             // rank of the program
  std::vector<std::int32_t> members;  // in the order of the communicator
  double ns = 0;                      // from_root, to_root: of those that receive data
  double other_ns = 0;                // from_root: of the root; to_root: of the others
  Split split;                        // of ns
};

struct Action {
  enum class Kind : std::uint8_t {
    compute,
    overhead,
    other,
    send,
    recv,
    join,
    await_send,
    await_recv,
    await_join
  };
  Kind kind = Kind::compute;
  std::uint32_t id = 0;  // of a message or a collective
  double ns = 0;         // compute, overhead, other: waits that are not modelled
};

struct Program {
  std::vector<std::vector<Action>> ranks;
  std::vector<int> host;  // by rank, from 0
  std::vector<Message> messages;
  std::vector<JoinedCall> calls;
};

// Where the time of a rank went. waiting: for a rank that came later.
struct Shares {
  double computing = 0, overhead = 0, wire = 0, contention = 0, copying = 0, waiting = 0, other = 0;
};

struct Replayed {
  double ns = 0;                   // until the last rank ends
  Shares shares;                   // mean of all ranks; the time after a rank's end is waiting
  std::vector<double> end_ns;      // by rank
  std::vector<double> message_ns;  // from the later of send and receive until the receive is complete
  int stuck = -1;                  // a rank that waits for what never comes; -1: the replay is complete
};

// `processors`: how many times as fast computation and overhead are as recorded.
Replayed replay(const Program& program, const Parameters& parameters, double processors = 1);

}  // namespace herald::model
