// SPDX-License-Identifier: BSD-3-Clause
// crypto/library.hpp: the cryptographic functions of libcrypto (OpenSSL), loaded at run time: the library
// needs none to start. Herald implements no cryptography of its own.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "wire/cipher.hpp"

namespace herald::crypto {

using wire::SecretKey;

enum class Aead : std::uint8_t { aes_128_gcm, chacha20_poly1305 };

struct Functions;  // of libcrypto
struct Pkey;

class Library {
 public:
  // Loaded at the first call, and never unloaded. Null with `why` if there is none, or an unsuitable one.
  static const Library* load(std::string& why);

  explicit Library(const Functions& functions) noexcept : functions_(functions) {}

  // X25519, from 32 random bytes.
  class PrivateKey {
   public:
    PrivateKey(const Functions& functions, const SecretKey& secret) noexcept;
    ~PrivateKey();
    PrivateKey(const PrivateKey&) = delete;
    PrivateKey& operator=(const PrivateKey&) = delete;
    bool public_key(SecretKey& key) const noexcept;
    // False for a key that yields no secret, which only an attacker publishes.
    bool agree(const SecretKey& theirs, SecretKey& shared) const noexcept;

   private:
    const Functions& f_;
    Pkey* const key_;  // null: the library has no X25519
  };
  PrivateKey private_key(const SecretKey& secret) const noexcept { return {functions_, secret}; }
  // HMAC-SHA-256.
  SecretKey mac(const SecretKey& key, std::span<const std::byte> bytes) const noexcept;
  // HKDF-Expand (RFC 5869) of one block.
  SecretKey derive(const SecretKey& key, std::span<const std::byte> label) const noexcept;
  std::unique_ptr<wire::Cipher> cipher(Aead aead, const SecretKey& key) const noexcept;

 private:
  const Functions& functions_;
};

// Whether the processor has instructions for AES-GCM; without them ChaCha20-Poly1305 is faster.
bool has_aes_instructions() noexcept;

// A cipher with its derivation of keys, as the node uses it.
class Suite final : public wire::CipherSuite {
 public:
  Suite(const Library& library, Aead aead) noexcept : library_(library), aead_(aead) {}
  SecretKey derive(const SecretKey& key, std::span<const std::byte> label) const noexcept override {
    return library_.derive(key, label);
  }
  std::unique_ptr<wire::Cipher> make(const SecretKey& key) const noexcept override {
    return library_.cipher(aead_, key);
  }

 private:
  const Library& library_;
  const Aead aead_;
};

}  // namespace herald::crypto
