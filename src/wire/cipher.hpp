// SPDX-License-Identifier: BSD-3-Clause
// wire/cipher.hpp: authenticated encryption as pure rooms see it. The engine hands in a suite of a
// cryptographic library (src/crypto); the simulator hands in a model of one.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace herald::wire {

constexpr std::size_t kCipherTag = 16;  // bytes behind the text
using SecretKey = std::array<std::byte, 32>;
using Nonce = std::array<std::byte, 12>;

// Bytes that the tag covers and that stay readable: two pieces, one behind the other.
struct ClearText {
  ClearText(std::span<const std::byte> head = {}, std::span<const std::byte> more = {}) noexcept
      : first(head), rest(more) {}
  std::span<const std::byte> first, rest;
};

// Authenticated encryption (AEAD) under one key. No two texts under a key have the same nonce.
class Cipher {
 public:
  Cipher() = default;
  Cipher(const Cipher&) = delete;
  Cipher& operator=(const Cipher&) = delete;
  virtual ~Cipher() = default;
  // Writes the encrypted text, which is `first` and then `rest`, and its tag, which covers `clear` too.
  virtual void seal(const Nonce& nonce, const ClearText& clear, std::span<const std::byte> first,
                    std::span<const std::byte> rest, std::byte* out) noexcept = 0;
  // Writes the text that `sealed` holds, maybe in its place. False: it was not sealed under this key.
  virtual bool open_text(const Nonce& nonce, const ClearText& clear, std::span<const std::byte> sealed,
                         std::span<const std::byte, kCipherTag> tag, std::byte* out) noexcept = 0;
  // `sealed` ends with the tag.
  bool open(const Nonce& nonce, const ClearText& clear, std::span<const std::byte> sealed,
            std::byte* out) noexcept {
    return sealed.size() >= kCipherTag &&
           open_text(nonce, clear, sealed.first(sealed.size() - kCipherTag), sealed.last<kCipherTag>(), out);
  }
};

class CipherSuite {
 public:
  // A key that says nothing about `key` nor about those of other labels.
  virtual SecretKey derive(const SecretKey& key, std::span<const std::byte> label) const noexcept = 0;
  virtual std::unique_ptr<Cipher> make(const SecretKey& key) const noexcept = 0;

 protected:
  ~CipherSuite() = default;
};

}  // namespace herald::wire
