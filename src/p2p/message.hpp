// SPDX-License-Identifier: BSD-3-Clause
// p2p/message.hpp: a message that came before its receive: the record and the bytes that were pushed, in one
// piece of memory from a pool. A late receiver costs this and no more.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/list.hpp"
#include "p2p/ops.hpp"

namespace herald::p2p {

// The header of a message, taken apart.
struct Envelope {
  std::uint64_t context = 0;
  std::uint64_t bytes = 0;  // of the whole message
  std::int32_t source = 0;
  std::int32_t tag = 0;
  PeerId from = 0;
  std::uint32_t send_id = 0;
  std::uint32_t seq = 0;
  std::uint32_t pushed = 0;  // bytes that come without a pull
  bool cast = false;
  bool incomplete = false;  // as in SendOp
  std::uint32_t runs = 0;   // not 0: the payload is so many wire::RunPart
};

struct BinLink : ListLink {
  Message* message = nullptr;
};

struct Message : ListLink {
  BinLink bin;
  Envelope envelope;
  Arriving arriving;
  std::uint32_t arrived = 0;  // of the pushed bytes
  std::uint32_t size_class = 0;
  std::uint32_t cost = 0;  // in memory, all of it

  std::byte* payload() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};

// Messages with room for some bytes, in a few sizes; those put back are used again.
class MessagePool {
 public:
  MessagePool() noexcept = default;
  ~MessagePool();
  MessagePool(const MessagePool&) = delete;
  MessagePool& operator=(const MessagePool&) = delete;

  Message* get(std::uint32_t payload_bytes) noexcept;  // null: no memory
  void put(Message* message) noexcept;
  std::uint64_t held() const noexcept { return held_; }  // got and not put back

 private:
  static constexpr std::array<std::uint32_t, 5> kSizes{64, 256, 1024, 4096, 16384};
  static constexpr std::uint32_t kKept = 1024;  // free ones of one size; more go back to the system
  struct Shelf {
    List<Message> free;
    std::uint32_t count = 0;
  };
  std::array<Shelf, kSizes.size()> shelves_;
  std::uint64_t held_ = 0;
};

}  // namespace herald::p2p
