// SPDX-License-Identifier: BSD-3-Clause
#include "crypto/gnutls.hpp"

#include <dlfcn.h>

#include "base/fatal.hpp"
#include "base/symbol.hpp"

namespace herald::crypto {
namespace {

// Declared here because the headers of GnuTLS need not be installed.
struct GnutlsDatum {
  const void* data;
  unsigned bytes;
};
struct GnutlsFunctions {
  int (*id_of)(const char* name);
  int (*init)(void** handle, int id, const GnutlsDatum* key);
  void (*deinit)(void* handle);
  int (*encrypt)(void* handle, const void* nonce, std::size_t nonce_bytes, const void* clear,
                 std::size_t clear_bytes, std::size_t tag_bytes, const void* text, std::size_t text_bytes,
                 void* out, std::size_t* out_bytes);
  int (*decrypt)(void* handle, const void* nonce, std::size_t nonce_bytes, const void* clear,
                 std::size_t clear_bytes, std::size_t tag_bytes, const void* sealed, std::size_t sealed_bytes,
                 void* out, std::size_t* out_bytes);
};

bool find_gnutls(void* library, GnutlsFunctions& f) noexcept {
  return find_symbol(library, "gnutls_cipher_get_id", f.id_of) &&
         find_symbol(library, "gnutls_aead_cipher_init", f.init) &&
         find_symbol(library, "gnutls_aead_cipher_deinit", f.deinit) &&
         find_symbol(library, "gnutls_aead_cipher_encrypt", f.encrypt) &&
         find_symbol(library, "gnutls_aead_cipher_decrypt", f.decrypt);
}

// Null: there is none. It is never unloaded.
const GnutlsFunctions* load_gnutls() noexcept {
  static GnutlsFunctions functions;
  static const bool found = [] {
    void* const library = ::dlopen("libgnutls.so.30", RTLD_NOW | RTLD_LOCAL);
    return library != nullptr && find_gnutls(library, functions);
  }();
  return found ? &functions : nullptr;
}

}  // namespace

GnutlsCipher::GnutlsCipher(const wire::SecretKey& key) noexcept {
  const GnutlsFunctions* const f = load_gnutls();
  if (f == nullptr) return;
  const GnutlsDatum datum{key.data(), kAesKey};
  if (f->init(&handle_, f->id_of("AES-128-GCM"), &datum) != 0) handle_ = nullptr;
}

GnutlsCipher::~GnutlsCipher() {
  if (handle_ != nullptr) load_gnutls()->deinit(handle_);
}

void GnutlsCipher::seal(const wire::Nonce& nonce, std::span<const std::byte> clear,
                        std::span<const std::byte> text, std::byte* out) noexcept {
  std::size_t bytes = text.size() + wire::kCipherTag;
  if (load_gnutls()->encrypt(handle_, nonce.data(), nonce.size(), clear.data(), clear.size(),
                             wire::kCipherTag, text.data(), text.size(), out, &bytes) != 0)
    fatal("GnuTLS failed to encrypt a datagram");
}

bool GnutlsCipher::open(const wire::Nonce& nonce, std::span<const std::byte> clear,
                        std::span<const std::byte> sealed, std::byte* out) noexcept {
  std::size_t bytes = sealed.size() - wire::kCipherTag;
  return load_gnutls()->decrypt(handle_, nonce.data(), nonce.size(), clear.data(), clear.size(),
                                wire::kCipherTag, sealed.data(), sealed.size(), out, &bytes) == 0;
}

}  // namespace herald::crypto
