// SPDX-License-Identifier: BSD-3-Clause
// p2p/direct.hpp: records of messages that are copied between the memories of two processes of a host.
#pragma once
#include <array>
#include <cstdint>

#include "base/list.hpp"
#include "p2p/ops.hpp"
#include "p2p/split_copy.hpp"
#include "wire/p2p_packet.hpp"

namespace herald::p2p {

// A receive that reads the sender's memory.
struct DirectRead : ListLink {
  SplitCopy alone;                        // for a message that the sender cannot help with
  SplitCopy* split_copy = nullptr;        // `alone`, or one that the sender can access
  std::uint32_t index = kAllSplitCopies;  // which of ours it is
  std::uint32_t send_id = 0, seq = 0;
  std::uint64_t bytes = 0;  // to be copied in all
  Share share;              // claimed by us and not copied yet
  bool broken = false;      // the sender's memory is not accessible: the rest of `share` and behind is pulled
  std::uint32_t runs = 0;
  std::array<type::Run, wire::kMaxRuns> there;  // the message in the sender's memory

  // The part of the message from `begin` on, at most `length` bytes, as runs of the sender's memory.
  std::size_t slice(std::uint64_t begin, std::uint64_t length, std::span<type::Run> out) const noexcept;
};

// Keeps the records that are put back.
class DirectPool {
 public:
  DirectPool() noexcept = default;
  ~DirectPool();
  DirectPool(const DirectPool&) = delete;
  DirectPool& operator=(const DirectPool&) = delete;
  DirectRead* get() noexcept;  // null: no memory
  void put(DirectRead* direct) noexcept { free_.push_front(*direct); }

 private:
  List<DirectRead> free_;
};

// Which of our split copies are in use, and with which peer. One is free again only when both sides have
// released it: we when the message is here, the sender when it says so (in the split copy, or in a packet if
// it cannot access that), however long that takes.
class SplitCopies {
 public:
  void open(SplitCopy* all) noexcept { all_ = all; }
  // kAllSplitCopies: none is free.
  std::uint32_t take(PeerId with) noexcept;
  std::uint32_t take_for_ad(PeerId with) noexcept;
  void await_release(std::uint32_t index) noexcept { uses_[index].theirs = true; }  // the ad was taken
  SplitCopy& at(std::uint32_t index) noexcept { return all_[index]; }
  void release(std::uint32_t index) noexcept { uses_[index].ours = false; }
  bool release_theirs(std::uint32_t index, PeerId with) noexcept;
  void release_all(PeerId with) noexcept;  // the peer is gone

 private:
  bool is_free(std::uint32_t index) const noexcept;
  struct Use {
    PeerId with = -1;
    bool ours = false, theirs = false;
  };
  SplitCopy* all_ = nullptr;
  std::array<Use, kAllSplitCopies> uses_;
};

inline type::Run run_at(std::uint64_t address, std::uint64_t bytes) noexcept {
  return {reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)), static_cast<std::size_t>(bytes)};
}

}  // namespace herald::p2p
