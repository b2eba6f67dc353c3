// SPDX-License-Identifier: BSD-3-Clause
#include "crypto/library.hpp"

#include <dlfcn.h>
#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include <algorithm>
#include <vector>

#include "base/fatal.hpp"
#include "base/symbol.hpp"
#include "crypto/functions.hpp"
#include "crypto/gnutls.hpp"

namespace herald::crypto {
namespace {

constexpr const char* kFiles[] = {"libcrypto.so.3", "libcrypto.so.1.1", "libcrypto.so.4"};

const unsigned char* raw(const std::byte* at) noexcept { return reinterpret_cast<const unsigned char*>(at); }
unsigned char* raw(std::byte* at) noexcept { return reinterpret_cast<unsigned char*>(at); }

bool find_all(void* handle, Functions& f) noexcept {
  const auto find = [handle](const char* name, auto& call) { return find_symbol(handle, name, call); };
  return find("OPENSSL_init_crypto", f.init) && find("EVP_PKEY_new_raw_private_key", f.new_private_key) &&
         find("EVP_PKEY_new_raw_public_key", f.new_public_key) &&
         find("EVP_PKEY_get_raw_public_key", f.get_public_key) && find("EVP_PKEY_free", f.free_key) &&
         find("EVP_PKEY_CTX_new", f.new_key_context) && find("EVP_PKEY_CTX_free", f.free_key_context) &&
         find("EVP_PKEY_derive_init", f.derive_init) && find("EVP_PKEY_derive_set_peer", f.derive_set_peer) &&
         find("EVP_PKEY_derive", f.derive) && find("EVP_sha256", f.sha256) && find("HMAC", f.hmac) &&
         find("EVP_aes_128_gcm", f.aes_128_gcm) && find("EVP_chacha20_poly1305", f.chacha20_poly1305) &&
         find("EVP_CIPHER_CTX_new", f.new_cipher) && find("EVP_CIPHER_CTX_free", f.free_cipher) &&
         find("EVP_CIPHER_CTX_ctrl", f.control) && find("EVP_CipherInit_ex", f.cipher_init) &&
         find("EVP_CipherUpdate", f.cipher_update) && find("EVP_CipherFinal_ex", f.cipher_final);
}

// The program may use libcrypto too: its exit handlers stay its own affair.
bool open_library(Functions& functions, std::string& why) {
  for (const char* const file : kFiles) {
    void* const handle = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) continue;
    if (find_all(handle, functions) && functions.init(kInitNoAtExit, nullptr) == 1) return true;
    why = std::string(file) + " does not have what is needed";
    ::dlclose(handle);
  }
  if (why.empty()) why = "install libcrypto; Debian, Ubuntu: libssl3; Fedora: openssl-libs";
  return false;
}

// Contexts for both directions, each made at its first use. GnuTLS takes over once so many texts went through
// that loading it pays.
class LibraryCipher final : public wire::Cipher {
 public:
  LibraryCipher(const Functions& functions, Aead aead, const CipherType* type, const SecretKey& key) noexcept
      : f_(functions), aead_(aead), type_(type), key_(key) {}
  ~LibraryCipher() override {
    for (CipherContext* const context : contexts_)
      if (context != nullptr) f_.free_cipher(context);
    std::fill(key_.begin(), key_.end(), std::byte{});
  }

  void seal(const wire::Nonce& nonce, const wire::ClearText& clear, std::span<const std::byte> first,
            std::span<const std::byte> rest, std::byte* out) noexcept override {
    if (clear.rest.empty() && rest.empty() && is_quick(clear.first.size() + first.size())) {
      quick_->seal(nonce, clear.first, first, out);
      return;
    }
    CipherContext* const context = begin(nonce, kSeal);
    int got = 0;
    const bool good = add(context, nullptr, clear.first) && add(context, nullptr, clear.rest) &&
                      add(context, out, first) && add(context, out + first.size(), rest) &&
                      f_.cipher_final(context, nullptr, &got) == 1 &&
                      f_.control(context, kGetTag, wire::kCipherTag, out + first.size() + rest.size()) == 1;
    if (!good) fatal("libcrypto failed to encrypt a datagram");
  }

  bool open_text(const wire::Nonce& nonce, const wire::ClearText& clear, std::span<const std::byte> sealed,
                 std::span<const std::byte, wire::kCipherTag> tag, std::byte* out) noexcept override {
    const bool joined = sealed.data() + sealed.size() == tag.data() || sealed.empty();
    if (clear.rest.empty() && joined && is_quick(clear.first.size() + sealed.size()))
      return quick_->open(nonce, clear.first, {tag.data() - sealed.size(), sealed.size() + tag.size()}, out);
    CipherContext* const context = begin(nonce, kOpen);
    std::byte* const read_only = const_cast<std::byte*>(tag.data());
    int got = 0;
    return f_.control(context, kSetTag, wire::kCipherTag, read_only) == 1 &&
           add(context, nullptr, clear.first) && add(context, nullptr, clear.rest) &&
           add(context, out, sealed) && f_.cipher_final(context, nullptr, &got) == 1;
  }

 private:
  static constexpr int kOpen = 0, kSeal = 1;
  static constexpr std::uint32_t kSlowTexts = 4096;
  static constexpr std::size_t kShortBytes = 16 << 10;  // for longer texts both take as long

  bool is_quick(std::size_t bytes) noexcept {
    if (bytes > kShortBytes || aead_ != Aead::aes_128_gcm) return false;
    if (quick_ == nullptr) {
      if (++texts_ <= kSlowTexts) return false;
      quick_ = std::make_unique<GnutlsCipher>(key_);
    }
    return quick_->is_open();
  }

  CipherContext* begin(const wire::Nonce& nonce, int direction) noexcept {
    CipherContext*& context = contexts_[direction];
    const bool made = context != nullptr;
    if (!made) context = f_.new_cipher();
    if (context == nullptr ||
        f_.cipher_init(context, made ? nullptr : type_, nullptr, made ? nullptr : raw(key_.data()),
                       raw(nonce.data()), direction) != 1)
      fatal("libcrypto failed to start AES-128-GCM or ChaCha20-Poly1305");
    return context;
  }
  bool add(CipherContext* context, std::byte* out, std::span<const std::byte> bytes) noexcept {
    int got = 0;
    return bytes.empty() ||
           f_.cipher_update(context, raw(out), &got, raw(bytes.data()), static_cast<int>(bytes.size())) == 1;
  }

  const Functions& f_;
  const Aead aead_;
  const CipherType* const type_;
  SecretKey key_;
  CipherContext* contexts_[2] = {};
  std::unique_ptr<GnutlsCipher> quick_;
  std::uint32_t texts_ = 0;  // short ones, until GnuTLS was tried
};

}  // namespace

const Library* Library::load(std::string& why) {
  static Functions functions;
  static std::string problem;
  static const bool good = open_library(functions, problem);
  static const Library library(functions);
  why = problem;
  return good ? &library : nullptr;
}

Library::PrivateKey::PrivateKey(const Functions& functions, const SecretKey& secret) noexcept
    : f_(functions), key_(f_.new_private_key(kX25519, nullptr, raw(secret.data()), secret.size())) {}

Library::PrivateKey::~PrivateKey() {
  if (key_ != nullptr) f_.free_key(key_);
}

bool Library::PrivateKey::public_key(SecretKey& key) const noexcept {
  std::size_t bytes = key.size();
  return key_ != nullptr && f_.get_public_key(key_, raw(key.data()), &bytes) == 1 && bytes == key.size();
}

bool Library::PrivateKey::agree(const SecretKey& theirs, SecretKey& shared) const noexcept {
  Pkey* const peer = f_.new_public_key(kX25519, nullptr, raw(theirs.data()), theirs.size());
  PkeyContext* const context = key_ != nullptr ? f_.new_key_context(key_, nullptr) : nullptr;
  std::size_t bytes = shared.size();
  const bool good = context != nullptr && peer != nullptr && f_.derive_init(context) == 1 &&
                    f_.derive_set_peer(context, peer) == 1 &&
                    f_.derive(context, raw(shared.data()), &bytes) == 1 && bytes == shared.size();
  if (context != nullptr) f_.free_key_context(context);
  if (peer != nullptr) f_.free_key(peer);
  return good;
}

SecretKey Library::mac(const SecretKey& key, std::span<const std::byte> bytes) const noexcept {
  SecretKey out{};
  unsigned size = 0;
  if (functions_.hmac(functions_.sha256(), key.data(), static_cast<int>(key.size()), raw(bytes.data()),
                      bytes.size(), raw(out.data()), &size) == nullptr ||
      size != out.size())
    fatal("libcrypto failed to compute HMAC-SHA-256");
  return out;
}

SecretKey Library::derive(const SecretKey& key, std::span<const std::byte> label) const noexcept {
  std::vector<std::byte> info(label.begin(), label.end());
  info.push_back(std::byte{1});
  return mac(key, info);
}

std::unique_ptr<wire::Cipher> Library::cipher(Aead aead, const SecretKey& key) const noexcept {
  const CipherType* const type =
      aead == Aead::aes_128_gcm ? functions_.aes_128_gcm() : functions_.chacha20_poly1305();
  return std::make_unique<LibraryCipher>(functions_, aead, type, key);
}

bool has_aes_instructions() noexcept {
#if defined(__x86_64__)
  return __builtin_cpu_supports("aes") != 0 && __builtin_cpu_supports("pclmul") != 0;
#elif defined(__aarch64__)
  return (::getauxval(AT_HWCAP) & HWCAP_AES) != 0;
#else
  return false;
#endif
}

}  // namespace herald::crypto
