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

// Authenticated encryption (AEAD) under one key. No two datagrams under a key have the same nonce.
class Cipher {
 public:
  Cipher() = default;
  Cipher(const Cipher&) = delete;
  Cipher& operator=(const Cipher&) = delete;
  virtual ~Cipher() = default;
  // Writes the encrypted text, which is `first` and then `rest`, and its tag, which covers `clear` too.
  virtual void seal(const Nonce& nonce, std::span<const std::byte> clear, std::span<const std::byte> first,
                    std::span<const std::byte> rest, std::byte* out) noexcept = 0;
  // Writes the text of `sealed`, which ends with the tag. False: it was not sealed under this key.
  virtual bool open(const Nonce& nonce, std::span<const std::byte> clear, std::span<const std::byte> sealed,
                    std::byte* out) noexcept = 0;
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
