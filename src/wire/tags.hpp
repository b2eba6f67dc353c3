// SPDX-License-Identifier: BSD-3-Clause
// wire/tags.hpp: tags of several datagrams at once. Each step of SipHash depends on the one before, so that
// eight hashes in SIMD registers take as long as one. Only for datagrams without ack part: those of a stream.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/datagram.hpp"

namespace herald::wire {

constexpr std::size_t kTagsAtOnce = 8;

struct TagAsked {
  const std::byte* head = nullptr;  // as it is sent, whatever its tag
  std::uint32_t to = 0;             // rank of the receiver
  std::uint32_t body_crc = 0;
  std::uint32_t upper = 0;  // half of its seq
};
using Tags = std::array<std::uint64_t, kTagsAtOnce>;

// At most kTagsAtOnce; the result has as many valid tags.
Tags tags_of(const Seal& seal, std::span<const TagAsked> asked) noexcept;

void set_tag(std::byte* head, std::uint64_t tag) noexcept;

// Its two implementations, for tests: portable; and SIMD, only if tags_are_wide().
Tags tags_one_by_one(const Seal& seal, std::span<const TagAsked> asked) noexcept;
bool tags_are_wide() noexcept;
Tags tags_wide(const Seal& seal, std::span<const TagAsked> asked) noexcept;

}  // namespace herald::wire
