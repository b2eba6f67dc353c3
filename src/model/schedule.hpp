// SPDX-License-Identifier: BSD-3-Clause
// model/schedule.hpp: the steps of one collective at all ranks, reduced to what they cost: kind, partner,
// bytes, dependencies. coll/predict.hpp fills it from plans.
#pragma once
#include <cstdint>
#include <vector>

#include "model/parameters.hpp"

namespace herald::model {

// As coll::StepKind; steps that cost nothing here are `none`.
enum class Kind : std::uint8_t {
  none,
  send,
  recv,
  cast,
  contribute,
  gather,
  announce,
  copy,
  reduce,
  post,
  fetch,
  put,
  arrive,
  wait_arrived,
  combine,
  stream_write,
  stream_read,
  stream_reduce,
};

constexpr std::int32_t kAllRanks = -2;  // partner of a stream that all other ranks of the host read

struct Step {
  Kind kind = Kind::none;
  std::uint8_t tag = 0;
  bool second = false;           // shared-memory steps: of the second part of a plan with two
  bool copied = false;           // post
  bool acknowledged = false;     // send: complete when the receiver has it
  std::int32_t partner = -1;     // rank
  std::uint32_t needs = 0;       // steps of the same rank that complete before this one starts
  std::uint32_t successors = 0;  // index in Schedule::next of the first step that needs this one
  double bytes = 0;
};

struct Schedule {
  std::vector<Step> steps;           // rank by rank, each in topological order, and a sentinel
  std::vector<std::uint32_t> next;   // indices in `steps`
  std::vector<std::uint32_t> first;  // by rank: its first step; and the end
  std::vector<int> host;             // by rank
  int hosts = 1;
  int ranks_per_host = 1;  // on the largest host
  // One rank stands for all: the plans of all ranks have the same steps, and each message that it sends
  // arrives at itself when the message of another rank would. `steps` has that rank only.
  bool symmetric = false;
  int ranks = 1;
  Reduction reduction = Reduction::floating;

  void clear() noexcept {
    steps.clear(), next.clear(), first.clear(), host.clear();
    symmetric = false;
  }
};

}  // namespace herald::model
