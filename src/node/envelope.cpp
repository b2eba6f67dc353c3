// SPDX-License-Identifier: BSD-3-Clause
#include "node/envelope.hpp"

#include <algorithm>
#include <cstring>

#include "base/fatal.hpp"
#include "wire/lane.hpp"

namespace herald::node {
namespace {

constexpr std::size_t kMostLaneKeys = 1024;  // then all are derived again
constexpr std::size_t kCacheLine = 64;

std::size_t rounded(std::size_t bytes) noexcept { return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine; }

struct PairLabel {
  char word[4] = {'p', 'a', 'i', 'r'};
  wire::Le<std::uint32_t> low, high, generation;
};
struct LaneLabel {
  char word[4] = {'l', 'a', 'n', 'e'};
  wire::Le<std::uint32_t> generation;
  wire::Le<std::uint64_t> lane;
};

template <class Label>
std::span<const std::byte> bytes_of(const Label& label) noexcept {
  return {reinterpret_cast<const std::byte*>(&label), sizeof label};
}

}  // namespace

Envelope::Envelope(const SecurityConfig& security, const rel::MeshConfig& mesh) noexcept
    : security_(security),
      me_(static_cast<std::uint32_t>(mesh.me)),
      epoch_(mesh.seal.epoch),
      sealed_bytes_(rounded(mesh.datagram_bytes + wire::kSealedMost)),
      opened_bytes_(rounded(std::max(mesh.datagram_bytes, mesh.largest_bytes) + wire::kSealedMost)),
      pairs_(static_cast<std::size_t>(mesh.peers)),
      group_generations_(static_cast<std::size_t>(mesh.peers)) {}

void Envelope::add_foreign(rel::PeerId peer, const rel::PairIdentity& pair,
                           const wire::SecretKey& secret) noexcept {
  const auto at = static_cast<std::size_t>(peer);
  if (at >= pairs_.size()) {
    pairs_.resize(at + 1);
    group_generations_.resize(at + 1);
  }
  pairs_[at].foreign.reset(new Foreign{secret, pair});
}

Envelope::CipherPtr Envelope::pair_cipher(std::uint32_t peer, std::uint32_t generation) const noexcept {
  PairLabel label;
  if (const Foreign* const foreign = pairs_[peer].foreign.get(); foreign != nullptr) {
    label.low = std::min(foreign->names.me, foreign->names.to);
    label.high = std::max(foreign->names.me, foreign->names.to);
    label.generation = generation;
    return security_.suite->make(security_.suite->derive(foreign->secret, bytes_of(label)));
  }
  label.low = std::min(me_, peer);
  label.high = std::max(me_, peer);
  label.generation = generation;
  return security_.suite->make(security_.suite->derive(security_.key, bytes_of(label)));
}

Envelope::CipherPtr Envelope::lane_cipher(const LaneKey& key) const noexcept {
  LaneLabel label;
  label.generation = key.generation;
  label.lane = key.lane;
  return security_.suite->make(security_.suite->derive(security_.key, bytes_of(label)));
}

wire::Cipher* Envelope::find_lane(const LaneKey& key) noexcept {
  if (last_cipher_ != nullptr && last_lane_ == key) return last_cipher_;
  const auto known = lanes_.find(key);
  if (known == lanes_.end()) return nullptr;
  last_lane_ = key;
  return last_cipher_ = known->second.get();
}

void Envelope::keep_lane(const LaneKey& key, CipherPtr cipher) noexcept {
  if (lanes_.size() > kMostLaneKeys) {
    lanes_.clear();
    last_cipher_ = nullptr;
  }
  lanes_.emplace(key, std::move(cipher));
}

wire::Cipher& Envelope::lane_tx(const LaneKey& key) noexcept {
  if (find_lane(key) == nullptr) keep_lane(key, lane_cipher(key));
  return *find_lane(key);
}

std::span<const std::byte> Envelope::seal_one(const rel::Tx& tx, std::byte* room) noexcept {
  const bool group = tx.to < 0;
  Pair* const pair = group ? nullptr : &pairs_[static_cast<std::size_t>(tx.to)];
  const std::uint64_t number = group ? group_number_++ : pair->number++;
  const std::uint32_t generation = wire::generation_of(number);
  auto& head = *reinterpret_cast<wire::SealedHead*>(room);
  head.version = wire::kSealedVersion;
  head.kind = static_cast<std::uint8_t>(group ? wire::SealedKind::group : wire::SealedKind::pair);
  head.security = static_cast<std::uint8_t>(security_.level);
  const Foreign* const foreign = group ? nullptr : pair->foreign.get();
  head.from = foreign != nullptr ? static_cast<std::uint32_t>(foreign->names.from) : me_;
  head.epoch = static_cast<std::uint8_t>(foreign != nullptr ? foreign->names.epoch : epoch_);
  head.number = number;
  std::size_t head_bytes = wire::kSealedHead;
  wire::Cipher* cipher = nullptr;
  if (group) {
    // A part of a split cast does not tell its lane.
    const wire::Le<std::uint64_t> lane =
        wire::is_fragment(tx.datagram) ? std::uint64_t{0} : wire::lane_name(tx.datagram);
    std::memcpy(room + head_bytes, &lane, sizeof lane);
    head_bytes = wire::kSealedGroupHead;
    cipher = &lane_tx({lane, generation});
  } else {
    Stream& stream = pair->tx;
    if (stream.cipher == nullptr || stream.generation != generation)
      stream = {generation, pair_cipher(static_cast<std::uint32_t>(tx.to), generation)};
    cipher = stream.cipher.get();
  }
  const std::size_t bytes = tx.datagram.size() + tx.rest.size();
  HERALD_ASSERT(head_bytes + bytes + wire::kCipherTag <= sealed_bytes_);
  const wire::Nonce nonce = wire::nonce_of(foreign != nullptr ? foreign->names.me : me_, number);
  std::byte* const text = room + head_bytes;
  const bool encrypts = security_.level == wire::Security::encrypt;
  std::span<const std::byte> clear = tx.datagram;
  if (!encrypts || !tx.rest.empty()) {  // a cipher is faster with one text than with two
    std::memcpy(text, tx.datagram.data(), tx.datagram.size());
    if (!tx.rest.empty()) std::memcpy(text + tx.datagram.size(), tx.rest.data(), tx.rest.size());
    clear = {text, bytes};
  }
  if (encrypts)
    cipher->seal(nonce, {{room, head_bytes}}, clear, {}, text);
  else
    cipher->seal(nonce, {{room, head_bytes + bytes}}, {}, {}, text + bytes);
  return {room, head_bytes + bytes + wire::kCipherTag};
}

void Envelope::seal(rel::TxBatch& batch) noexcept {
  if (sealed_.empty()) sealed_.resize(rel::TxBatch::kMost * sealed_bytes_);
  for (std::size_t i = 0; i < batch.count; ++i) {
    rel::Tx& tx = batch.entries[i];
    tx.datagram = seal_one(tx, sealed_.data() + i * sealed_bytes_);
    tx.rest = {};
  }
}

bool Envelope::decrypt(wire::Cipher& cipher, std::uint32_t sender, const wire::SealedView& view,
                       std::byte* out) const noexcept {
  const wire::Nonce nonce = wire::nonce_of(sender, view.number);
  if (security_.level == wire::Security::encrypt) return cipher.open(nonce, view.head, view.rest, out);
  const std::size_t clear = view.rest.size() - wire::kCipherTag;
  return cipher.open(nonce, {{view.head.data(), view.head.size() + clear}}, view.rest.subspan(clear), out);
}

// A cipher of another generation is kept only if it opened the datagram.
bool Envelope::open_pair(const wire::SealedView& view, std::byte* out) noexcept {
  Pair& pair = pairs_[view.from];
  const std::uint32_t sender = pair.foreign != nullptr ? pair.foreign->names.to : view.from;
  const std::uint32_t generation = wire::generation_of(view.number);
  Stream& stream = pair.rx[generation & 1];
  if (stream.cipher != nullptr && stream.generation == generation)
    return decrypt(*stream.cipher, sender, view, out);
  CipherPtr cipher = pair_cipher(view.from, generation);
  if (!decrypt(*cipher, sender, view, out)) return false;
  stream = {generation, std::move(cipher)};
  pair.newest = std::max(pair.newest, generation);
  return true;
}

bool Envelope::open_group(const wire::SealedView& view, std::byte* out) noexcept {
  const LaneKey key{view.lane, wire::generation_of(view.number)};
  if (wire::Cipher* const known = find_lane(key); known != nullptr) {
    if (!decrypt(*known, view.from, view, out)) return false;
  } else {
    CipherPtr cipher = lane_cipher(key);
    if (!decrypt(*cipher, view.from, view, out)) return false;
    keep_lane(key, std::move(cipher));
  }
  std::uint32_t& newest = group_generations_[view.from];
  newest = std::max(newest, key.generation);
  return true;
}

std::span<const std::byte> Envelope::open(bool by_group, std::size_t slot,
                                          std::span<const std::byte> datagram) noexcept {
  wire::SealedView view;
  const auto kind = by_group ? wire::SealedKind::group : wire::SealedKind::pair;
  if (!wire::read_sealed(security_.level, kind, datagram, view) || view.from >= pairs_.size() ||
      view.rest.size() > opened_bytes_) {
    ++counters_.malformed;
    return {};
  }
  // Of a pair, generations follow each other. Datagrams to groups count together: a member may miss many.
  const std::uint64_t generation = wire::generation_of(view.number);
  const std::uint64_t newest = by_group ? group_generations_[view.from] : pairs_[view.from].newest;
  const auto& head = *reinterpret_cast<const wire::SealedHead*>(datagram.data());
  const Foreign* const foreign = by_group ? nullptr : pairs_[view.from].foreign.get();
  const std::uint32_t epoch = foreign != nullptr ? foreign->names.epoch : epoch_;
  if (head.epoch != (epoch & 0xff) || generation + 1 < newest || (!by_group && generation > newest + 1)) {
    ++counters_.stale;
    return {};
  }
  if (opened_.empty()) opened_.resize(rel::Mesh::kMostAtOnce * opened_bytes_);
  std::byte* const out = opened_.data() + slot * opened_bytes_;
  if (!(by_group ? open_group(view, out) : open_pair(view, out))) {
    ++counters_.forged;
    return {};
  }
  const std::size_t bytes = view.rest.size() - wire::kCipherTag;
  return security_.level == wire::Security::encrypt ? std::span<const std::byte>(out, bytes)
                                                    : view.rest.first(bytes);
}

}  // namespace herald::node
