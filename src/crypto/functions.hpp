// SPDX-License-Identifier: BSD-3-Clause
// crypto/functions.hpp: what Herald calls of libcrypto 1.1.1 and later, declared here because its headers
// need not be installed.
#pragma once
#include <cstddef>

namespace herald::crypto {

// Types of libcrypto, of which pointers only are used.
struct Digest;
struct CipherType;
struct CipherContext;
struct Pkey;
struct PkeyContext;

constexpr int kX25519 = 1034;                              // NID_X25519
constexpr int kGetTag = 0x10, kSetTag = 0x11;              // EVP_CTRL_AEAD_GET_TAG, _SET_TAG
constexpr unsigned long long kInitNoAtExit = 0x00080000u;  // OPENSSL_INIT_NO_ATEXIT

struct Functions {
  int (*init)(unsigned long long options, const void* settings);
  Pkey* (*new_private_key)(int type, void* engine, const unsigned char* key, std::size_t bytes);
  Pkey* (*new_public_key)(int type, void* engine, const unsigned char* key, std::size_t bytes);
  int (*get_public_key)(const Pkey* key, unsigned char* out, std::size_t* bytes);
  void (*free_key)(Pkey* key);
  PkeyContext* (*new_key_context)(Pkey* key, void* engine);
  void (*free_key_context)(PkeyContext* context);
  int (*derive_init)(PkeyContext* context);
  int (*derive_set_peer)(PkeyContext* context, Pkey* peer);
  int (*derive)(PkeyContext* context, unsigned char* out, std::size_t* bytes);
  const Digest* (*sha256)();
  unsigned char* (*hmac)(const Digest* digest, const void* key, int key_bytes, const unsigned char* data,
                         std::size_t bytes, unsigned char* out, unsigned* out_bytes);
  const CipherType* (*aes_128_gcm)();
  const CipherType* (*chacha20_poly1305)();
  CipherContext* (*new_cipher)();
  void (*free_cipher)(CipherContext* context);
  int (*control)(CipherContext* context, int what, int number, void* pointer);
  // The last argument: 1 to encrypt, 0 to decrypt, -1 as before.
  int (*cipher_init)(CipherContext* context, const CipherType* type, void* engine, const unsigned char* key,
                     const unsigned char* nonce, int encrypt);
  int (*cipher_update)(CipherContext* context, unsigned char* out, int* out_bytes, const unsigned char* in,
                       int bytes);
  int (*cipher_final)(CipherContext* context, unsigned char* out, int* out_bytes);
};

}  // namespace herald::crypto
