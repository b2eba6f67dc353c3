// SPDX-License-Identifier: BSD-3-Clause
// node/envelope.hpp: seals each datagram that leaves, and opens each that came, with a cipher: the only
// place that does either (HERALD_SECURE=auth and encrypt). The datagram inside stays as wire/datagram.hpp has
// it. In:  batches to send; datagrams that came, not trusted. Out: the same, sealed; opened, or refused.
// Invariants: no number is used twice under a key; a copy of a datagram that is two generations old is
// refused, and a younger one is known by its sequence inside.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "rel/mesh.hpp"
#include "rel/tx_batch.hpp"
#include "wire/bulk_session.hpp"
#include "wire/sealed.hpp"

namespace herald::node {

struct SecurityConfig {
  wire::Security level = wire::Security::tag;
  const wire::CipherSuite* suite = nullptr;  // not null unless `level` is tag
  wire::SecretKey key{};                     // of the job

  wire::BulkSession protect(const wire::StreamSession& tags) const {
    return level == wire::Security::tag ? wire::BulkSession(tags)
                                        : wire::BulkSession(tags, level, *suite, key);
  }
};

struct EnvelopeCounters {
  std::uint64_t malformed = 0, stale = 0, forged = 0;  // dropped
  std::uint64_t all() const noexcept { return malformed + stale + forged; }
};

class Envelope {
 public:
  Envelope(const SecurityConfig& security, const rel::MeshConfig& mesh) noexcept;

  // A process of another job, with the secret of this pair of processes.
  void add_foreign(rel::PeerId peer, const rel::PairIdentity& pair, const wire::SecretKey& secret) noexcept;

  // Replaces each datagram of the batch by its sealed form, in memory that is valid until the next call.
  void seal(rel::TxBatch& batch) noexcept;
  // Empty: refused and counted. `slot`, below Mesh::kMostAtOnce: the result is valid until its next use.
  std::span<const std::byte> open(bool by_group, std::size_t slot,
                                  std::span<const std::byte> datagram) noexcept;
  const EnvelopeCounters& counters() const noexcept { return counters_; }

 private:
  using CipherPtr = std::unique_ptr<wire::Cipher>;
  struct Stream {
    std::uint32_t generation = 0;
    CipherPtr cipher;  // null: not used yet
  };
  struct Foreign {
    wire::SecretKey secret;
    rel::PairIdentity names;
  };
  struct Pair {
    std::uint64_t number = wire::kFirstNumber;  // of the next datagram to the peer
    Stream tx;
    Stream rx[2];                            // of this generation and of one beside it
    std::uint32_t newest = 0;                // generation that came
    std::unique_ptr<const Foreign> foreign;  // null: a rank of our job
  };
  struct LaneKey {
    std::uint64_t lane;
    std::uint32_t generation;
    bool operator==(const LaneKey&) const = default;
  };
  struct LaneKeyHash {
    std::size_t operator()(const LaneKey& key) const noexcept {
      return (key.lane ^ key.generation * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu >> 7;
    }
  };

  CipherPtr pair_cipher(std::uint32_t peer, std::uint32_t generation) const noexcept;
  CipherPtr lane_cipher(const LaneKey& key) const noexcept;
  wire::Cipher* find_lane(const LaneKey& key) noexcept;  // null: no such key is kept
  void keep_lane(const LaneKey& key, CipherPtr cipher) noexcept;
  wire::Cipher& lane_tx(const LaneKey& key) noexcept;
  std::span<const std::byte> seal_one(const rel::Tx& tx, std::byte* room) noexcept;
  bool decrypt(wire::Cipher& cipher, std::uint32_t sender, const wire::SealedView& view,
               std::byte* out) const noexcept;
  bool open_pair(const wire::SealedView& view, std::byte* out) noexcept;
  bool open_group(const wire::SealedView& view, std::byte* out) noexcept;

  const SecurityConfig security_;
  const std::uint32_t me_, epoch_;
  const std::size_t sealed_bytes_, opened_bytes_;    // of a slot
  std::vector<Pair> pairs_;                          // by peer
  std::vector<std::uint32_t> group_generations_;     // by peer: newest of its datagrams to groups
  std::uint64_t group_number_ = wire::kFirstNumber;  // of our next datagram to a group
  std::unordered_map<LaneKey, CipherPtr, LaneKeyHash> lanes_;
  LaneKey last_lane_{};
  wire::Cipher* last_cipher_ = nullptr;  // of last_lane_, in lanes_
  std::vector<std::byte> sealed_, opened_;
  EnvelopeCounters counters_;
};

}  // namespace herald::node
