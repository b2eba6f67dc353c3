// SPDX-License-Identifier: BSD-3-Clause
// Scatterv, alltoallv and alltoallw where a rank has little for each of several others: what it has goes over
// the lane in few packets, and each takes its part out of them (StepKind::send, bundled). Only the sender
// decides: whoever receives does the same either way, and whoever gets nothing does nothing.
#include <algorithm>
#include <utility>
#include <vector>

#include "coll/make/cast.hpp"

namespace herald::coll {
namespace {

constexpr std::uint64_t kPacketBytes = 1380;  // of parts, in one packet
constexpr std::uint64_t kPartBytes = 46;      // that a part has besides its data
// More than a few packets that are mostly for others are not worth hearing.
constexpr std::uint64_t kMostDealt = 16 << 10;

// What one rank has for the others.
struct Hand {
  int receivers = 0;
  std::uint64_t bytes = 0, longest = 0, packets = 0;

  explicit Hand(const CollSpec& ask) noexcept {
    std::uint64_t room = 0;
    for (int i = 1; i < ask.size; ++i) {
      const std::uint64_t part = ask.send.bytes((ask.rank + i) % ask.size);
      if (part == 0) continue;
      ++receivers;
      bytes += part;
      longest = std::max(longest, part);
      const std::uint64_t needed = part + kPartBytes;
      if (needed > room) {
        packets += (needed + kPacketBytes - 1) / kPacketBytes;
        room = kPacketBytes;
      }
      room -= std::min(room, needed);
    }
  }
};

// How a hand is dealt: single messages, bundles for all to hear, or for just those concerned.
enum class Way : std::uint8_t { single, whole, part };

// A packet that all hear costs each of them more than one of its own; where most of them are not concerned
// they should not hear it.
Way way_of(const CollSpec& ask, std::uint64_t most) noexcept {
  const Hand hand(ask);
  if (ask.groups != Groups::pick) {
    if (hand.receivers == 0 || hand.longest > kMostDealt) return Way::single;
    return ask.groups == Groups::whole ? Way::whole : Way::part;
  }
  if (hand.bytes > most || 2 * hand.packets > static_cast<std::uint64_t>(hand.receivers)) return Way::single;
  return 2 * hand.receivers >= ask.size - 1 ? Way::whole : Way::part;
}

// The parts, in the order of `to(1)` ...
template <class To>
void deal(const CollSpec& ask, Builder& b, Way way, To to) noexcept {
  std::vector<int> members = {ask.rank};
  for (int i = 1; i < ask.size; ++i) {
    const Piece block = ask.send.block(to(i));
    if (block.bytes == 0) continue;
    b.bundle(to(i), block);
    members.push_back(to(i));
  }
  if (way == Way::part) b.bundle_among(std::move(members));
}

void make_scatterv(const CollSpec& ask, Builder& b) noexcept {
  const Way way = ask.rank == ask.root ? way_of(ask, kMostDealt) : Way::single;
  if (way == Way::single) return kScattervLinear.make(ask, b);
  deal(ask, b, way, [&](int i) { return ask.absolute(i); });
  if (!ask.in_place) b.copy(ask.send.block(ask.rank), ask.recv.range(0, 1));
}

// Long parts go pair by pair: many at a time crowd each other in the switch. The others need not do the same.
bool has_long_part(const CollSpec& ask) noexcept {
  const Blocks& parts = ask.in_place ? ask.recv : ask.send;
  for (int i = 0; i < ask.size; ++i)
    if (i != ask.rank && parts.bytes(i) > kMostDealt) return true;
  return false;
}

// All may cast at once.
void make_alltoall(const CollSpec& ask, Builder& b, const Algorithm& linear,
                   const Algorithm& pairwise) noexcept {
  const std::uint64_t most = std::min(kMostDealt, kCastTogether / static_cast<std::uint64_t>(ask.size));
  const Way way = ask.in_place ? Way::single : way_of(ask, most);
  if (way == Way::single) return (has_long_part(ask) ? pairwise : linear).make(ask, b);
  for (int k = 1; k < ask.size; ++k) {
    const int from = from_in_round(ask.rank, k, ask.size);
    const Piece in = ask.recv.block(from);
    if (in.bytes != 0) b.recv(from, in);
  }
  deal(ask, b, way, [&](int i) { return to_in_round(ask.rank, i, ask.size); });
  b.copy(ask.send.block(ask.rank), ask.recv.block(ask.rank));
}
void make_alltoallv(const CollSpec& ask, Builder& b) noexcept {
  make_alltoall(ask, b, kAlltoallvLinear, kAlltoallvPairwise);
}
void make_alltoallw(const CollSpec& ask, Builder& b) noexcept {
  make_alltoall(ask, b, kAlltoallwLinear, kAlltoallwPairwise);
}

// Never worse than sending to each: where it does not pay, that is what is done.
double estimate_scatterv(std::uint64_t bytes, const Shape& shape) noexcept {
  return 0.9 * kScattervLinear.estimate(bytes, shape);
}
double estimate_alltoall(std::uint64_t bytes, const Shape& shape) noexcept {
  return 0.9 * kAlltoallvLinear.estimate(bytes, shape);
}

constexpr const char* kSummary = "little for many goes over the lane, several parts in a packet";

}  // namespace

const Algorithm kScattervDeal{Op::scatterv, "deal", kSummary, fits_lane, estimate_scatterv, make_scatterv};
const Algorithm kAlltoallvDeal{Op::alltoallv, "deal", kSummary, fits_lane, estimate_alltoall, make_alltoallv};
const Algorithm kAlltoallwDeal{Op::alltoallw, "deal", kSummary, fits_lane, estimate_alltoall, make_alltoallw};

}  // namespace herald::coll
