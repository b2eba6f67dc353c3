// SPDX-License-Identifier: BSD-3-Clause
// wire/compact.hpp: the report of a member that has heard the result of the lane and has nothing behind, with
// a head of its own. All members send theirs to one host, and what a head has besides takes as long on that
// link as a small part. So neither the lane is named nor the rank: the first has told what it knows the lane
// as, and place and number are a byte each. The name and the whole number are under the tag.
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
  Le<std::uint8_t> epoch;      // lowest byte
  Le<std::uint16_t> known_as;  // the lane, to the first; not 0
  Le<std::uint8_t> place;      // of the sender in the lane
  Le<std::uint8_t> number;     // of the fused exchange, lowest byte
  Le<std::uint64_t> tag;
};

static_assert(sizeof(CompactHead) == 16 && alignof(CompactHead) == 1);
constexpr std::uint32_t kMostKnownAs = 0xffff, kMostCompactPlace = 0xff;

struct Compact {
  std::uint8_t flags = 0;
  std::uint16_t known_as = 0;
  std::uint8_t place = 0;
  std::uint32_t number = 0;
};

// Writes the head before a part that is there, and seals both. `all`: head and part.
void write_compact(const Seal& seal, std::uint32_t to, std::uint64_t name, const Compact& compact,
                   std::span<std::byte> all) noexcept;

// What the lane is known as, of a datagram whose kind is brief; 0: it is too short.
std::uint16_t known_as(std::span<const std::byte> datagram) noexcept;

// As open_datagram(), of the lane of this name, of whose fused exchanges one near `about` is meant. `from` of
// the view is a place.
Opened open_compact(const Seal& seal, std::uint32_t me, std::uint64_t name, std::uint32_t about,
                    std::span<const std::byte> datagram, DatagramView& view) noexcept;

}  // namespace herald::wire
