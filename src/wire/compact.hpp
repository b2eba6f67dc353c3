// SPDX-License-Identifier: BSD-3-Clause
// wire/compact.hpp: the contribution of a member that has all results of the lane, with a short head of its
// own: all members send theirs to one host, whose link it saves 13 bytes for each. Neither the lane's name
// nor the rank is sent: the root has announced its index of the lane, and place and number are a byte each.
// The name and the whole number are under the tag.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/datagram.hpp"
#include "wire/le.hpp"

namespace herald::wire {

struct CompactHead {
  Le<std::uint8_t> version;
  Le<std::uint8_t> kind;
  Le<std::uint8_t> flags;
  Le<std::uint8_t> epoch;        // lowest byte
  Le<std::uint16_t> lane_index;  // at the root; not 0
  Le<std::uint8_t> place;        // of the sender in the lane
  Le<std::uint8_t> number;       // of the fused exchange, lowest byte
  Le<std::uint64_t> tag;
};

static_assert(sizeof(CompactHead) == 16 && alignof(CompactHead) == 1);
constexpr std::uint32_t kMaxLaneIndex = 0xffff, kMaxCompactPlace = 0xff;

struct Compact {
  std::uint8_t flags = 0;
  std::uint16_t lane_index = 0;
  std::uint8_t place = 0;
  std::uint64_t number = 0;
};

// Writes the head before data that are there, and seals both. `all`: head and data.
void write_compact(const Seal& seal, std::uint32_t to, std::uint64_t name, const Compact& compact,
                   std::span<std::byte> all) noexcept;

// Of a compact contribution; 0: it is too short.
std::uint16_t lane_index(std::span<const std::byte> datagram) noexcept;

// As open_datagram(), of the lane of this name; of the numbers that end alike the one nearest to `about` is
// meant. `from` of the view is a place.
Opened open_compact(const Seal& seal, std::uint32_t me, std::uint64_t name, std::uint64_t about,
                    std::span<const std::byte> datagram, DatagramView& view) noexcept;

}  // namespace herald::wire
