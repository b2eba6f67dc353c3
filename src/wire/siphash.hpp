// SPDX-License-Identifier: BSD-3-Clause
// wire/siphash.hpp: SipHash-2-4, word by word. Call add() for each whole little-endian word of 8 bytes, then
// finish() with the rest (fewer than 8 bytes) and the length of the input.
#pragma once
#include <bit>
#include <cstdint>

#include "wire/datagram.hpp"

namespace herald::wire {

class SipHash {
 public:
  explicit SipHash(const JobKey& key) noexcept
      : a_(key[0] ^ 0x736f6d6570736575u),
        b_(key[1] ^ 0x646f72616e646f6du),
        c_(key[0] ^ 0x6c7967656e657261u),
        d_(key[1] ^ 0x7465646279746573u) {}

  void add(std::uint64_t word) noexcept {
    d_ ^= word;
    round();
    round();
    a_ ^= word;
  }

  std::uint64_t finish(std::uint64_t rest, std::uint64_t length) noexcept {
    add(rest | length << 56);
    c_ ^= 0xff;
    for (int i = 0; i < 4; ++i) round();
    return a_ ^ b_ ^ c_ ^ d_;
  }

 private:
  void round() noexcept {
    a_ += b_;
    c_ += d_;
    b_ = std::rotl(b_, 13) ^ a_;
    d_ = std::rotl(d_, 16) ^ c_;
    a_ = std::rotl(a_, 32) + d_;
    c_ += b_;
    d_ = std::rotl(d_, 21) ^ a_;
    b_ = std::rotl(b_, 17) ^ c_;
    c_ = std::rotl(c_, 32);
  }

  std::uint64_t a_, b_, c_, d_;
};

}  // namespace herald::wire
