// SPDX-License-Identifier: BSD-3-Clause
// crypto/gnutls.hpp: AES-128-GCM from GnuTLS, loaded at run time where a host has it. For texts as short as a
// datagram it takes three quarters of libcrypto's time (docs/decisions/0015-cryptography.md).
#pragma once
#include <cstddef>
#include <span>

#include "wire/cipher.hpp"

namespace herald::crypto {

constexpr std::size_t kAesKey = 16;  // bytes of a SecretKey that AES-128 uses

class GnutlsCipher {
 public:
  // Loads GnuTLS at the first call in the process, which takes 2 ms.
  explicit GnutlsCipher(const wire::SecretKey& key) noexcept;
  ~GnutlsCipher();
  GnutlsCipher(const GnutlsCipher&) = delete;
  GnutlsCipher& operator=(const GnutlsCipher&) = delete;

  // False: this host has no GnuTLS, or one without the cipher.
  bool is_open() const noexcept { return handle_ != nullptr; }
  // Writes the encrypted text, maybe in its place, and its tag.
  void seal(const wire::Nonce& nonce, std::span<const std::byte> clear, std::span<const std::byte> text,
            std::byte* out) noexcept;
  // `sealed` ends with the tag. False: it was not sealed under this key.
  bool open(const wire::Nonce& nonce, std::span<const std::byte> clear, std::span<const std::byte> sealed,
            std::byte* out) noexcept;

 private:
  void* handle_ = nullptr;
};

}  // namespace herald::crypto
