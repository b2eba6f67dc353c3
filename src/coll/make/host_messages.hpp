// SPDX-License-Identifier: BSD-3-Clause
// coll/make/host_messages.hpp: the part of a neighborhood collective in which all blocks from one host to
// another travel as one message. A forwarder at each of the two hosts collects the blocks of its host, sends
// the message, and distributes the one that it receives.
// Only short blocks of calls without counts: every rank of both hosts knows their size, and so decides alike.
#pragma once
#include <vector>

#include "coll/builder.hpp"
#include "coll/neighbors.hpp"

namespace herald::coll {

// The block for a destination: of a gather, all get the same one.
Piece block_to(const CollSpec& spec, int edge) noexcept;

// Of all blocks, in calls without counts.
std::uint64_t block_bytes(const CollSpec& spec) noexcept;

class HostMessages {
 public:
  static constexpr int kFirstTag = 128, kTags = 32;  // two ranges, below the rounds of coll/check.cpp

  HostMessages(const CollSpec& spec, Builder& builder) noexcept;
  // Whether the edges between this rank and another one travel in such a message.
  bool carries_from(int rank) const noexcept { return in_[host_index(rank)].shared; }
  bool carries_to(int rank) const noexcept { return out_[host_index(rank)].shared; }
  void make() noexcept;

 private:
  using Crossing = HostEdges::Crossing;
  struct Message {  // to or from one host
    std::vector<Crossing> edges;
    std::vector<Crossing> blocks;  // of each edge; of a gather, of each source
    bool shared = false;
  };

  std::size_t host_index(int rank) const noexcept;
  void decide(Message& message, int remote) noexcept;
  int forwarder(int host, int remote) const noexcept;
  void set_tag(int remote, bool collects) noexcept;
  Piece at(const Piece& message, std::size_t block, std::size_t count = 1) const noexcept;
  Piece own_block(const Crossing& edge) const noexcept;
  void collect(const Message& message, int remote) noexcept;
  void gather_at_forwarder(const Message& message, const Piece& all, int source,
                           std::vector<StepId>& ready) noexcept;
  void distribute(const Message& message, int remote) noexcept;
  void deliver(const Message& message, const Piece& part, std::size_t first, StepId got) noexcept;
  // The blocks that a rank of this host gets: begin and count.
  struct Part {
    std::size_t first, count;
  };
  Part part_of(const Message& message, int rank) const noexcept;

  const CollSpec& spec_;
  Builder& b_;
  const HostEdges* const all_;
  const bool gathers_;
  std::uint64_t bytes_ = 0;        // of a block
  std::vector<Message> in_, out_;  // by host; a single empty one if nothing is shared
};

}  // namespace herald::coll
