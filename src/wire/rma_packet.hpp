// SPDX-License-Identifier: BSD-3-Clause
// wire/rma_packet.hpp: the header of service calls for one-sided communication (docs/wire.md).
#pragma once
#include <cstdint>

#include "wire/le.hpp"

namespace herald::wire {

enum class RmaKind : std::uint8_t {
  none = 0,
  // From an origin to a target, handled in order per origin.
  put = 1,             // payload: the data
  get = 2,             // answered by `reply`
  accumulate = 3,      // payload: the data
  get_accumulate = 4,  // payload: the data; answered by `reply`
  compare_swap = 5,    // payload: new value, compared value; answered by `reply`
  type = 6,            // payload: a description of the target datatype of later calls with kRmaDescribed
  lock = 7,            // answered by `granted`
  flush = 8,           // answered by `flushed`
  unlock = 9,          // answered by `flushed`
  complete = 10,       // ends the access epoch of MPI_Win_start
  // From a target to an origin.
  reply = 16,     // payload: the data
  granted = 17,   // the lock
  flushed = 18,   // everything before the flush or unlock has been applied
  posted = 19,    // MPI_Win_post
  failed = 20,    // an earlier call was out of range
  conflict = 21,  // an earlier call conflicts with another; payload: text about both
};

constexpr std::uint8_t kRmaDescribed =
    1;  // `count` is of the datatype of the last `type` call, not of `basic`
constexpr std::uint8_t kRmaExclusive = 2;   // lock
constexpr std::uint8_t kRmaKeepsEpoch = 4;  // flush: the epoch goes on
constexpr std::uint8_t kRmaOddFence = 8;    // calls of an origin: it has left an odd number of fences

struct RmaHeader {
  Le<std::uint64_t> window;
  RmaKind kind;
  std::uint8_t op;     // op::Kind
  std::uint8_t basic;  // type::Basic of the elements
  std::uint8_t flags;
  Le<std::uint32_t> source;  // rank of the caller in the window
  Le<std::uint32_t> number;  // counts the calls of an origin to a target
  Le<std::uint32_t> id;      // the answer repeats it
  Le<std::uint64_t> offset;  // bytes from the base of the window; dynamic windows: an address
  Le<std::uint64_t> count;   // items at the target
};
static_assert(sizeof(RmaHeader) == 40 && alignof(RmaHeader) == 1);

}  // namespace herald::wire
