// SPDX-License-Identifier: BSD-3-Clause
// sim/net/packet_pool.cpp: see packet_pool.hpp.
#include "sim/net/packet_pool.hpp"

#include <cstring>
#include <new>

#include "base/fatal.hpp"

namespace herald::sim {

PacketPool::~PacketPool() {
  for (Packet* first : free_)
    while (first != nullptr) {
      Packet* const next = first->next;
      ::operator delete(first);
      first = next;
    }
}

Packet* PacketPool::copy(std::span<const std::byte> bytes, std::span<const std::byte> rest) {
  const std::size_t size = bytes.size() + rest.size();
  std::uint32_t shelf = 0;
  while (shelf < kSizes.size() && kSizes[shelf] < size) ++shelf;
  HERALD_ASSERT(shelf < kSizes.size() && "a datagram has at most 65536 bytes");
  Packet* packet = free_[shelf];
  if (packet != nullptr)
    free_[shelf] = packet->next;
  else
    packet = new (::operator new(sizeof(Packet) + kSizes[shelf])) Packet;
  packet->uses = 1;
  packet->size = static_cast<std::uint32_t>(size);
  packet->shelf = shelf;
  if (!bytes.empty()) std::memcpy(packet->data(), bytes.data(), bytes.size());
  if (!rest.empty()) std::memcpy(packet->data() + bytes.size(), rest.data(), rest.size());
  ++held_;
  return packet;
}

void PacketPool::release(Packet* packet) noexcept {
  HERALD_ASSERT(packet->uses != 0);
  if (--packet->uses != 0) return;
  packet->next = free_[packet->shelf];
  free_[packet->shelf] = packet;
  --held_;
}

}  // namespace herald::sim
