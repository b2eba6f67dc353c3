// SPDX-License-Identifier: BSD-3-Clause
// sim/net/packet_pool.hpp: the bytes of datagrams in flight. Copies for several receivers share them; a fault
// that corrupts a datagram makes a copy first.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace herald::sim {

struct Packet {
  std::uint32_t uses = 1;
  std::uint32_t size = 0;
  std::uint32_t shelf = 0;
  Packet* next = nullptr;  // in the free list

  std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
  std::span<const std::byte> bytes() noexcept { return {data(), size}; }
};

class PacketPool {
 public:
  PacketPool() = default;
  ~PacketPool();
  PacketPool(const PacketPool&) = delete;
  PacketPool& operator=(const PacketPool&) = delete;

  // The datagram is the concatenation of both.
  Packet* copy(std::span<const std::byte> bytes, std::span<const std::byte> rest = {});
  void release(Packet* packet) noexcept;
  std::uint64_t held() const noexcept { return held_; }

 private:
  static constexpr std::array<std::uint32_t, 4> kSizes{128, 2048, 10240, 65536};
  std::array<Packet*, kSizes.size()> free_{};
  std::uint64_t held_ = 0;
};

}  // namespace herald::sim
