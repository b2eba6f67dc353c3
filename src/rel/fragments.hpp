// SPDX-License-Identifier: BSD-3-Clause
// rel/fragments.hpp: datagrams that were written before their link proved to carry smaller ones only: the
// sender splits them, the receiver joins the parts. Everything written later fits (rel/segment_search.hpp).
// Invariant: a part is sealed as any datagram, and so is the whole; a whole that misses a part is as lost.
#pragma once
#include <bitset>
#include <cstdint>
#include <span>
#include <vector>

#include "rel/tx_batch.hpp"
#include "wire/datagram.hpp"

namespace herald::rel {

// Parts of datagrams that wait for space in a batch.
class Splitter {
 public:
  // A receiver joins parts that came to it alone, whoever split them: numbers of a sender's two splitters
  // must differ.
  enum class Of : std::uint8_t { mesh, lanes };
  explicit Splitter(Of whose) noexcept : number_(whose == Of::mesh ? 0 : 1u << 31) {}

  struct Sealing {
    const wire::Seal& seal;
    std::int32_t from;
    std::uint32_t receiver;
  };
  // Splits a complete datagram into parts of at most `segment` bytes, sealed for `receiver`.
  void split(const Tx& whole, std::size_t segment, const wire::Seal& seal, std::int32_t from,
             std::uint32_t receiver) noexcept;
  bool empty() const noexcept { return next_ == parts_.size(); }
  // Moves parts into the batch. They are valid until the next call.
  void fill(TxBatch& out) noexcept;
  // Replaces those entries of a batch that `segment_of` finds too long by parts, as far as they fit.
  template <class SegmentOf, class SealingOf>
  void replace(TxBatch& out, SegmentOf segment_of, SealingOf sealing_of) noexcept {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < out.count; ++i) {
      const Tx& one = out.entries[i];
      const std::size_t segment = segment_of(one);
      if (one.datagram.size() + one.rest.size() <= segment) {
        out.entries[kept++] = one;
        continue;
      }
      const Sealing sealing = sealing_of(one);
      split(one, segment, sealing.seal, sealing.from, sealing.receiver);
    }
    out.count = kept;
    fill(out);
  }

 private:
  struct Part {
    std::int32_t to;
    std::uint8_t link;
    std::vector<std::byte> bytes;
  };
  void discard_sent() noexcept;

  std::vector<Part> parts_;
  std::size_t next_ = 0;  // the first that has not left
  std::uint32_t number_;  // of the last datagram that was split
};

// Parts that have come of datagrams that are not complete.
class Joiner {
 public:
  // A good fragment came. The whole datagram if it was the last part, valid until the next call.
  std::span<const std::byte> add(const wire::DatagramView& fragment, bool by_group) noexcept;

 private:
  static constexpr std::size_t kMost = 32;  // incomplete datagrams; the oldest makes place for another
  static constexpr std::size_t kUnits = (UINT16_MAX + wire::kFragmentUnit) / wire::kFragmentUnit;

  struct Incomplete {
    std::uint32_t from = 0, number = 0;
    bool by_group = false;
    bool used = false;
    std::vector<std::byte> bytes;
    std::bitset<kUnits> came;
  };
  Incomplete& find(const wire::DatagramView& fragment, bool by_group, std::size_t total) noexcept;

  std::vector<Incomplete> all_;
  std::size_t oldest_ = 0;
};

}  // namespace herald::rel
