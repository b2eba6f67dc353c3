// SPDX-License-Identifier: BSD-3-Clause
// wire/sealed.hpp: the sealed datagram of HERALD_SECURE=auth and encrypt: a datagram of wire/datagram.hpp,
// in clear or encrypted, between a head in clear and the tag of the cipher. docs/wire.md describes it.
//
//   SealedHead | name of the lane, if to a group | datagram | kCipherTag bytes
//
// The nonce is rank and number of the sender. The key is that of the pair or of the lane, and of the
// generation of the number: it changes long before the 32-bit sequences inside wrap around.
#pragma once
#include <cstdint>
#include <cstring>
#include <span>

#include "wire/cipher.hpp"
#include "wire/le.hpp"

namespace herald::wire {

constexpr std::uint8_t kSealedVersion = 3;  // differs from kDatagramVersion

// The protection of the datagrams of a job; the same on all ranks.
enum class Security : std::uint8_t { tag, auth, encrypt };

enum class SealedKind : std::uint8_t { pair = 1, group = 2 };

struct SealedHead {
  Le<std::uint8_t> version;
  Le<std::uint8_t> kind;
  Le<std::uint8_t> security;  // 1 auth, 2 encrypt
  Le<std::uint8_t> epoch;     // lowest byte
  Le<std::uint32_t> from;     // rank of the sender in the job
  Le<std::uint64_t> number;   // counts what the sender sealed for the pair, or for all groups
};
static_assert(sizeof(SealedHead) == 16 && alignof(SealedHead) == 1);

constexpr std::size_t kSealedHead = sizeof(SealedHead),
                      kSealedGroupHead = kSealedHead + sizeof(std::uint64_t);
constexpr std::uint32_t kSealedGroupExtra = kSealedGroupHead - kSealedHead;
constexpr std::uint32_t kSealedMost = kSealedGroupHead + kCipherTag;  // bytes beside the datagram, at most

// The longest datagram that fits into a sealed one of so many bytes. A cipher works on blocks of 16 bytes,
// and takes 7 % longer for a part of one: the encrypted text, or with `auth` head and text together, is whole
// blocks.
constexpr std::uint32_t longest_inside(Security security, std::uint32_t sealed_bytes) noexcept {
  if (security == Security::tag) return sealed_bytes;
  const std::uint32_t clear = security == Security::encrypt ? 0u : kSealedGroupHead;
  return (sealed_bytes - kSealedMost + clear) / kCipherTag * kCipherTag - clear;
}

// Numbers of one key. Far fewer than the 2^32 after which a sequence wraps around, and than AES-GCM allows.
constexpr int kGenerationBits = 22;
// Of every stream, so that every long job changes its keys.
constexpr std::uint64_t kFirstNumber = (std::uint64_t{1} << kGenerationBits) - 128;
constexpr std::uint32_t generation_of(std::uint64_t number) noexcept {
  return static_cast<std::uint32_t>(number >> kGenerationBits);
}

struct SealedView {
  std::uint32_t from = 0;
  std::uint64_t number = 0;
  std::uint64_t lane = 0;  // of a group
  std::span<const std::byte> head, rest;
};

// Checks lengths and constants. `view` is filled only if true.
inline bool read_sealed(Security security, SealedKind kind, std::span<const std::byte> datagram,
                        SealedView& view) noexcept {
  const std::size_t head_bytes = kind == SealedKind::group ? kSealedGroupHead : kSealedHead;
  if (datagram.size() < head_bytes + kCipherTag) return false;
  const auto& head = *reinterpret_cast<const SealedHead*>(datagram.data());
  if (head.version != kSealedVersion || head.kind != static_cast<std::uint8_t>(kind) ||
      head.security != static_cast<std::uint8_t>(security) || head.number >> (32 + kGenerationBits) != 0)
    return false;
  const auto* const lane = reinterpret_cast<const Le<std::uint64_t>*>(datagram.data() + kSealedHead);
  view = {head.from, head.number, kind == SealedKind::group ? std::uint64_t{*lane} : 0,
          datagram.first(head_bytes), datagram.subspan(head_bytes)};
  return true;
}

inline Nonce nonce_of(std::uint32_t from, std::uint64_t number) noexcept {
  Nonce nonce;
  const Le<std::uint32_t> first = from;
  const Le<std::uint64_t> second = number;
  std::memcpy(nonce.data(), &first, sizeof first);
  std::memcpy(nonce.data() + sizeof first, &second, sizeof second);
  return nonce;
}

}  // namespace herald::wire
