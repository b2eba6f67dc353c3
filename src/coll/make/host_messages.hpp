// SPDX-License-Identifier: BSD-3-Clause
// coll/make/host_messages.hpp: the part of a neighborhood collective in which all short blocks from one host
// to another travel as one message. A forwarder at each of the two hosts collects the blocks of its host,
// sends the message, and distributes the one that it receives. All ranks of both hosts know which edges the
// message has, so they agree on the longest block that it carries. In calls with counts only the two ends of
// an edge know how long its block is: they alike decide whether the message carries it, and the forwarders
// see from the block list how long each one is.
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
  // Whether a block of so many bytes from or to this rank travels in such a message.
  bool carries_from(int rank, std::uint64_t bytes) const noexcept {
    return bytes <= in_[host_index(rank)].longest;
  }
  bool carries_to(int rank, std::uint64_t bytes) const noexcept {
    return bytes <= out_[host_index(rank)].longest;
  }
  void make() noexcept;

 private:
  using Crossing = HostEdges::Crossing;
  struct Message {  // to or from one host
    std::vector<Crossing> edges;
    std::vector<Crossing> blocks;  // of each edge; of a gather, of each source
    std::uint64_t longest = 0;     // block that it carries; 0: there is no such message
  };

  std::size_t host_index(int rank) const noexcept;
  void decide(Message& message, int remote) noexcept;
  int forwarder(int host, int remote) const noexcept;
  void set_tag(int remote, bool collects) noexcept;
  Piece list_of(const Message& message, std::size_t blocks) noexcept;
  Piece own_block(const Message& message, const Crossing& edge) const noexcept;
  void collect(const Message& message, int remote) noexcept;
  StepId collect_own(const Message& message, const Piece& list) noexcept;
  StepId collect_all(const Message& message, const Piece& list) noexcept;
  void distribute(const Message& message, int remote) noexcept;
  void send_part(const Message& message, const Piece& all, int rank, StepId got) noexcept;
  void deliver(const Message& message, const Piece& list, std::size_t first, StepId got) noexcept;
  // The blocks that a rank of this host gets: begin and count.
  struct Part {
    std::size_t first, count;
  };
  Part part_of(const Message& message, int rank) const noexcept;

  const CollSpec& spec_;
  Builder& b_;
  const HostEdges* const all_;
  const bool gathers_;
  std::vector<Message> in_, out_;  // by host; a single empty one if nothing is shared
};

}  // namespace herald::coll
