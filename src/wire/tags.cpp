// SPDX-License-Identifier: BSD-3-Clause
#include "wire/tags.hpp"

#include <cstring>

#include "wire/siphash.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#define HERALD_TAGS_WIDE [[gnu::target("avx512f")]]
#endif

namespace herald::wire {
namespace {

constexpr std::size_t kWords = 5;
constexpr std::uint64_t kLength = sizeof(DatagramHead) + 12;  // rank, epoch and CRC are not sent

template <class T>
std::uint64_t load(const std::byte* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// The hashed words.
std::array<std::uint64_t, kWords> words_of(const Seal& seal, const TagAsked& asked) noexcept {
  return {load<std::uint64_t>(asked.head),
          load<std::uint32_t>(asked.head + 8) | std::uint64_t{asked.upper} << 32,
          std::uint64_t{asked.to} << 32, seal.epoch | std::uint64_t{asked.body_crc} << 32, kLength << 56};
}

}  // namespace

Tags tags_one_by_one(const Seal& seal, std::span<const TagAsked> asked) noexcept {
  Tags tags{};
  for (std::size_t i = 0; i < asked.size(); ++i) {
    SipHash hash(seal.key);
    const auto words = words_of(seal, asked[i]);
    for (std::size_t k = 0; k + 1 < kWords; ++k) hash.add(words[k]);
    tags[i] = hash.finish(0, kLength);
  }
  return tags;
}

#ifdef HERALD_TAGS_WIDE
namespace {

struct State {
  __m512i a, b, c, d;
};

// The masked form avoids a warning of GCC 12 about its own header.
template <int Bits>
HERALD_TAGS_WIDE inline __m512i turned(__m512i value) noexcept {
  return _mm512_maskz_rol_epi64(0xff, value, Bits);
}

HERALD_TAGS_WIDE inline void round(State& s) noexcept {
  s.a = _mm512_add_epi64(s.a, s.b);
  s.c = _mm512_add_epi64(s.c, s.d);
  s.b = _mm512_xor_si512(turned<13>(s.b), s.a);
  s.d = _mm512_xor_si512(turned<16>(s.d), s.c);
  s.a = _mm512_add_epi64(turned<32>(s.a), s.d);
  s.c = _mm512_add_epi64(s.c, s.b);
  s.d = _mm512_xor_si512(turned<21>(s.d), s.a);
  s.b = _mm512_xor_si512(turned<17>(s.b), s.c);
  s.c = turned<32>(s.c);
}

HERALD_TAGS_WIDE inline __m512i all(std::uint64_t value) noexcept {
  return _mm512_set1_epi64(static_cast<long long>(value));
}

}  // namespace

HERALD_TAGS_WIDE Tags tags_wide(const Seal& seal, std::span<const TagAsked> asked) noexcept {
  alignas(64) std::uint64_t columns[kWords][kTagsAtOnce] = {};
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const auto words = words_of(seal, asked[i]);
    for (std::size_t k = 0; k < kWords; ++k) columns[k][i] = words[k];
  }
  State s{all(seal.key[0] ^ 0x736f6d6570736575u), all(seal.key[1] ^ 0x646f72616e646f6du),
          all(seal.key[0] ^ 0x6c7967656e657261u), all(seal.key[1] ^ 0x7465646279746573u)};
  for (const auto& column : columns) {
    const __m512i word = _mm512_load_si512(column);
    s.d = _mm512_xor_si512(s.d, word);
    round(s);
    round(s);
    s.a = _mm512_xor_si512(s.a, word);
  }
  s.c = _mm512_xor_si512(s.c, all(0xff));
  for (int i = 0; i < 4; ++i) round(s);
  Tags tags;
  _mm512_storeu_si512(tags.data(), _mm512_xor_si512(_mm512_xor_si512(s.a, s.b), _mm512_xor_si512(s.c, s.d)));
  return tags;
}

bool tags_are_wide() noexcept {
  static const bool has = __builtin_cpu_supports("avx512f") != 0;
  return has;
}
#else
Tags tags_wide(const Seal& seal, std::span<const TagAsked> asked) noexcept {
  return tags_one_by_one(seal, asked);
}
bool tags_are_wide() noexcept { return false; }
#endif

void set_tag(std::byte* head, std::uint64_t tag) noexcept {
  constexpr std::size_t kAt = sizeof(DatagramHead) - sizeof tag;
  std::memcpy(head + kAt, &tag, sizeof tag);
}

Tags tags_of(const Seal& seal, std::span<const TagAsked> asked) noexcept {
  return tags_are_wide() && asked.size() > 1 ? tags_wide(seal, asked) : tags_one_by_one(seal, asked);
}

}  // namespace herald::wire
