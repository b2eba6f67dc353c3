// SPDX-License-Identifier: BSD-3-Clause
// wire/part_packet.hpp: the header of service calls for partitioned communication (docs/wire.md).
#pragma once
#include <array>
#include <cstdint>

#include "wire/le.hpp"

namespace herald::wire {

enum class PartKind : std::uint8_t {
  none = 0,
  ready = 1,  // from the receiver: it has started, the sender may send
  data = 2,   // payload: bytes of partitions
};

struct PartHeader {
  Le<std::uint64_t> context;
  Le<std::int32_t> tag;
  Le<std::uint32_t> number;  // counts the requests of the pair with this context and tag
  PartKind kind;
  std::array<std::uint8_t, 3> unused;
  Le<std::uint32_t> round;   // counts the starts of the request
  Le<std::uint64_t> offset;  // data: of the payload in the message
  Le<std::uint64_t> total;   // data: bytes of the message
};
static_assert(sizeof(PartHeader) == 40 && alignof(PartHeader) == 1);

}  // namespace herald::wire
