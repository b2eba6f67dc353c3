// SPDX-License-Identifier: BSD-3-Clause
// coll/make/two_level.hpp: plans made of parts, for hosts with several ranks: intra-host, inter-host with one
// rank of each host, intra-host again. Each part is the cheapest plan of the table for its ranks; the builder
// translates their numbers.
#pragma once
#include <vector>

#include "coll/make/makers.hpp"
#include "type/basic.hpp"

namespace herald::coll {

inline bool fits_two_level(const Shape& shape) noexcept {
  return shape.hosts > 1 && shape.ranks > shape.hosts && (shape.commutes || shape.host_order);
}

inline Shape shape_of_leaders(int hosts, bool commutes, bool lane, bool in_order, const Incast& incast,
                              double link_byte_ns) noexcept {
  Shape shape = with_link(shape_of(hosts, hosts, commutes), link_byte_ns);
  shape.incast = incast;
  shape.lane = lane;
  shape.in_order = in_order;
  return shape;
}
inline Shape shape_of_host(int ranks, bool commutes, std::uint32_t shared_bytes, bool reads_peers) noexcept {
  Shape shape = shape_of(ranks, 1, commutes);
  shape.shared_bytes = shared_bytes;
  shape.reads_peers = reads_peers;
  return shape;
}

// Cost of the cheapest plan of a part.
inline double part_ns(Op op, std::uint64_t bytes, const Shape& shape) noexcept {
  return shape.ranks < 2 ? 0 : choose(op, bytes, shape).estimate(bytes, shape);
}
inline double leaders_ns(Op op, std::uint64_t bytes, const Shape& shape) noexcept {
  return part_ns(op, bytes,
                 shape_of_leaders(shape.hosts, shape.commutes, shape.leaders_lane, shape.in_order,
                                  shape.incast, shape.link_byte_ns));
}
inline double host_ns(Op op, std::uint64_t bytes, const Shape& shape) noexcept {
  return part_ns(op, bytes,
                 shape_of_host(shape.largest_host, shape.commutes, shape.shared_bytes, shape.reads_peers));
}

// Data in scratch memory, as plain bytes.
inline Blocks byte_blocks(const Piece& scratch, std::uint64_t bytes_each) noexcept {
  Blocks blocks{Buffer::scratch, &type::basic_layout(type::Basic::byte),
                static_cast<std::int64_t>(bytes_each)};
  blocks.offset = scratch.offset;
  return blocks;
}
inline Blocks item_blocks(const Piece& items) noexcept {
  Blocks blocks{items.buffer, items.layout, items.count};
  blocks.offset = items.offset;
  return blocks;
}

class Levels {
 public:
  Levels(const CollSpec& call, Builder& builder) noexcept
      : spec(call),
        b(builder),
        all(*call.cluster),
        host(all.host_of(call.rank)),
        place(all.place_of(call.rank)),
        count(all.count(host)) {}

  // A part of this call, to be made by the cheapest algorithm.
  CollSpec part(Op op, int root, std::uint64_t bytes) const noexcept {
    CollSpec part;
    part.op = op;
    part.root = root;
    part.bytes = bytes;
    part.commutes = spec.commutes;
    return part;
  }
  // Among the ranks of this host, if there are several.
  void on_host(CollSpec part, bool second) noexcept {
    if (count == 1) return;
    part.rank = place;
    part.size = count;
    part.shared_bytes = spec.shared_bytes;
    b.map_ranks(all.on_host(host), second);
    make(part, shape_of_host(count, spec.commutes, spec.shared_bytes, all.reads_peers));
  }
  // Among one rank of each host, including this one. `representatives`: other ranks than the leaders.
  void among_hosts(CollSpec part, const std::vector<int>* representatives = nullptr) noexcept {
    part.rank = host;
    part.size = all.hosts();
    part.incast = spec.incast;
    part.link_byte_ns = spec.link_byte_ns;
    b.map_ranks(representatives != nullptr ? *representatives : all.leaders());
    make(part, shape_of_leaders(all.hosts(), spec.commutes, all.lane && representatives == nullptr,
                                spec.in_order, spec.incast, spec.link_byte_ns));
  }
  // The leaders, except that the root represents its host.
  std::vector<int> representatives() const noexcept {
    std::vector<int> ranks = all.leaders();
    ranks[static_cast<std::size_t>(root_host())] = spec.root;
    return ranks;
  }
  int root_host() const noexcept { return all.host_of(spec.root); }
  int root_place() const noexcept { return all.place_of(spec.root); }

  const CollSpec& spec;
  Builder& b;
  const Cluster& all;
  const int host, place, count;

 private:
  void make(const CollSpec& part, const Shape& shape) noexcept {
    choose(part.op, part.bytes, shape).make(part, b);
  }
};

}  // namespace herald::coll
