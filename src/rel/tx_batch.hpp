// SPDX-License-Identifier: BSD-3-Clause
// rel/tx_batch.hpp: datagrams that Mesh or Lanes hand out to leave now. Entries refer to the send log, or to
// memory of the batch for short ones; both are valid until the next call of their owner.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace herald::rel {

struct Tx {
  std::int32_t to = 0;  // peer
  std::uint8_t link = 0;
  std::span<const std::byte> datagram;
  std::span<const std::byte> rest = {};  // where the datagram continues
};

struct TxBatch {
  static constexpr std::size_t kMost = 88;
  static constexpr std::size_t kShort = 64;  // bytes of a datagram without payload, at most

  std::size_t count = 0;
  std::array<Tx, kMost> entries;
  std::array<std::array<std::byte, kShort>, kMost> shorts;

  bool full() const noexcept { return count == kMost; }
  void clear() noexcept { count = 0; }
};

}  // namespace herald::rel
