// SPDX-License-Identifier: BSD-3-Clause
// p2p/direct.hpp: records of messages that the receiver takes out of the sender's memory itself.
#pragma once
#include <array>
#include <cstdint>

#include "base/list.hpp"
#include "p2p/ops.hpp"
#include "p2p/split_copy.hpp"
#include "wire/p2p_packet.hpp"

namespace herald::p2p {

struct DirectRead : ListLink {
  SplitCopy alone;                        // for a message that the sender cannot help with
  SplitCopy* split_copy = nullptr;        // `alone`, or one that the sender sees
  std::uint32_t index = kAllSplitCopies;  // which of ours it is
  std::uint32_t send_id = 0, seq = 0;
  std::uint64_t bytes = 0;  // to be moved in all
  Share share;              // claimed by us and not moved yet
  bool broken =
      false;  // the sender's memory could not be reached: what is left of `share` and behind is pulled
  std::uint32_t runs = 0;
  std::array<type::Run, wire::kMostRuns> there;  // the message in the sender's memory

  // The part of the message from `begin` on, at most `bytes`, as runs of the sender's memory.
  std::size_t slice(std::uint64_t begin, std::uint64_t length, std::span<type::Run> out) const noexcept;
};

// Records that come back are kept.
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

// Which of our split copies are in use, and with whom. One is free again only when both sides have left it:
// we when the message is here, the sender when it has said so (in the split copy, or in a packet if it cannot
// reach that), however long that takes; until then either may look into it.
class SplitCopies {
 public:
  void open(SplitCopy* all) noexcept { all_ = all; }
  // kAllMeetings: there is none.
  std::uint32_t take(PeerId with) noexcept;
  std::uint32_t take_for_ad(PeerId with) noexcept;
  void await(std::uint32_t index) noexcept { uses_[index].theirs = true; }  // the offer was taken
  SplitCopy& at(std::uint32_t index) noexcept { return all_[index]; }
  void leave(std::uint32_t index) noexcept { uses_[index].ours = false; }
  bool leave_theirs(std::uint32_t index, PeerId with) noexcept;
  void leave_all(PeerId with) noexcept;  // it is gone

 private:
  bool is_free(std::uint32_t index) const noexcept;
  struct Use {
    PeerId with = -1;
    bool ours = false, theirs = false;
  };
  SplitCopy* all_ = nullptr;
  std::array<Use, kAllSplitCopies> uses_;
};

// What we have with a peer whose memory we can reach.
struct Near {
  SplitCopy* theirs = nullptr;   // its split copies
  RecvOp* advertised = nullptr;  // to it, and not taken yet that we know of
};

}  // namespace herald::p2p
