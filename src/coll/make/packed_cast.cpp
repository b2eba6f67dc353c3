// SPDX-License-Identifier: BSD-3-Clause
// Scatterv, alltoallv and alltoallw where a rank has short blocks for several others: it packs them into few
// multicast packets, from which each receiver takes its part (StepKind::send, bundled). Only the sender
// decides: a receiver does the same either way.
#include <algorithm>
#include <utility>
#include <vector>

#include "coll/make/cast.hpp"
#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

constexpr std::uint64_t kPacketBytes = 1380;  // payload of one packet
constexpr std::uint64_t kPartBytes = 46;      // header of a part
// Receivers discard the parts of others: more than a few packets of these cost more than separate messages.
constexpr std::uint64_t kMostPacked = 16 << 10;

// The blocks that one rank sends.
struct Outgoing {
  int receivers = 0;
  std::uint64_t bytes = 0, longest = 0, packets = 0;

  explicit Outgoing(const CollSpec& spec) noexcept {
    std::uint64_t room = 0;
    for (int i = 1; i < spec.size; ++i) {
      const std::uint64_t part = spec.send.bytes((spec.rank + i) % spec.size);
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

// Single messages, packets that all ranks receive, or packets that only the ranks concerned receive.
enum class Delivery : std::uint8_t { single, whole, part };

// A packet that all ranks receive costs each of them more than one of its own, so it must concern most of
// them.
Delivery choose_delivery(const CollSpec& spec, std::uint64_t most) noexcept {
  const Outgoing outgoing(spec);
  if (spec.groups != Groups::pick) {
    if (outgoing.receivers == 0 || outgoing.longest > kMostPacked) return Delivery::single;
    return spec.groups == Groups::whole ? Delivery::whole : Delivery::part;
  }
  if (outgoing.bytes > most || 2 * outgoing.packets > static_cast<std::uint64_t>(outgoing.receivers))
    return Delivery::single;
  return 2 * outgoing.receivers >= spec.size - 1 ? Delivery::whole : Delivery::part;
}

// Adds the parts in the order to(1), to(2) ...
template <class To>
void pack(const CollSpec& spec, Builder& b, Delivery delivery, To to) noexcept {
  std::vector<int> members = {spec.rank};
  for (int i = 1; i < spec.size; ++i) {
    const Piece block = spec.send.block(to(i));
    if (block.bytes == 0) continue;
    b.send(to(i), block, {}, Builder::How::bundled);
    members.push_back(to(i));
  }
  if (delivery == Delivery::part) b.set_bundle_members(std::move(members));
}

void make_scatterv(const CollSpec& spec, Builder& b) noexcept {
  const Delivery delivery = spec.rank == spec.root ? choose_delivery(spec, kMostPacked) : Delivery::single;
  if (delivery == Delivery::single) return find_algorithm(Op::scatterv, "linear")->make(spec, b);
  pack(spec, b, delivery, [&](int i) { return spec.absolute(i); });
  if (!spec.in_place) b.copy(spec.send.block(spec.rank), spec.recv.range(0, 1));
}

// Long parts go pairwise: many at a time congest the switch. The decision is local to the sender.
bool has_long_part(const CollSpec& spec) noexcept {
  const Blocks& parts = spec.in_place ? spec.recv : spec.send;
  for (int i = 0; i < spec.size; ++i)
    if (i != spec.rank && parts.bytes(i) > kMostPacked) return true;
  return false;
}

// All ranks may multicast at once.
void make_alltoall(const CollSpec& spec, Builder& b) noexcept {
  const std::uint64_t most = std::min(kMostPacked, kCastTogether / static_cast<std::uint64_t>(spec.size));
  const Delivery delivery = spec.in_place ? Delivery::single : choose_delivery(spec, most);
  if (delivery == Delivery::single)
    return find_algorithm(spec.op, has_long_part(spec) ? "pairwise" : "linear")->make(spec, b);
  for (int k = 1; k < spec.size; ++k) {
    const int from = from_in_round(spec.rank, k, spec.size);
    const Piece in = spec.recv.block(from);
    if (in.bytes != 0) b.recv(from, in);
  }
  pack(spec, b, delivery, [&](int i) { return to_in_round(spec.rank, i, spec.size); });
  b.copy(spec.send.block(spec.rank), spec.recv.block(spec.rank));
}

// Never worse than separate messages: the maker falls back to them where packing does not pay.
double estimate_scatterv(std::uint64_t bytes, const Shape& shape) noexcept {
  return 0.9 * find_algorithm(Op::scatterv, "linear")->estimate(bytes, shape);
}
double estimate_alltoall(std::uint64_t bytes, const Shape& shape) noexcept {
  return 0.9 * find_algorithm(Op::alltoallv, "linear")->estimate(bytes, shape);
}

constexpr const char* kSummary = "short blocks for several ranks packed into multicast packets";

constexpr Algorithm kRows[] = {
    {Op::scatterv, "packed_cast", kSummary, fits_lane, estimate_scatterv, make_scatterv},
    {Op::alltoallv, "packed_cast", kSummary, fits_lane, estimate_alltoall, make_alltoall},
    {Op::alltoallw, "packed_cast", kSummary, fits_lane, estimate_alltoall, make_alltoall},
};

}  // namespace

constinit const std::span<const Algorithm> kPackedCastAlgorithms = kRows;

}  // namespace herald::coll
