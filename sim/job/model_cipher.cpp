// SPDX-License-Identifier: BSD-3-Clause
#include "sim/job/model_cipher.hpp"

#include <cstring>
#include <vector>

namespace herald::sim {
namespace {

using Bytes = std::span<const std::byte>;

wire::JobKey half(const wire::SecretKey& key, std::size_t which) noexcept {
  wire::JobKey out;
  std::memcpy(out.data(), key.data() + which * sizeof out, sizeof out);
  return out;
}

class ModelCipher final : public wire::Cipher {
 public:
  explicit ModelCipher(const wire::SecretKey& key) noexcept
      : text_key_(half(key, 0)), tag_key_(half(key, 1)) {}

  void seal(const wire::Nonce& nonce, const wire::ClearText& clear, Bytes first, Bytes rest,
            std::byte* out) noexcept override {
    if (!first.empty()) std::memmove(out, first.data(), first.size());  // it may be in place
    if (!rest.empty()) std::memcpy(out + first.size(), rest.data(), rest.size());
    const std::size_t bytes = first.size() + rest.size();
    mask(nonce, {out, bytes});
    const wire::JobKey tag = tag_of(nonce, clear, {out, bytes});
    std::memcpy(out + bytes, tag.data(), sizeof tag);
  }

  bool open_text(const wire::Nonce& nonce, const wire::ClearText& clear, Bytes text,
                 std::span<const std::byte, wire::kCipherTag> sealed_tag, std::byte* out) noexcept override {
    const wire::JobKey tag = tag_of(nonce, clear, text);
    if (std::memcmp(tag.data(), sealed_tag.data(), sizeof tag) != 0) return false;
    if (text.empty()) return true;
    std::memmove(out, text.data(), text.size());
    mask(nonce, {out, text.size()});
    return true;
  }

 private:
  void mask(const wire::Nonce& nonce, std::span<std::byte> bytes) const noexcept {
    std::uint64_t state = wire::siphash24(text_key_, nonce);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      if (at % sizeof state == 0) state = state * 6364136223846793005u + 1442695040888963407u;
      bytes[at] ^= static_cast<std::byte>(state >> at % sizeof state * 8);
    }
  }
  wire::JobKey tag_of(const wire::Nonce& nonce, const wire::ClearText& clear, Bytes text) noexcept {
    all_.assign(nonce.begin(), nonce.end());
    for (const Bytes part : {clear.first, clear.rest, text})
      all_.insert(all_.end(), part.begin(), part.end());
    all_.push_back(static_cast<std::byte>(clear.first.size() + clear.rest.size()));
    const std::uint64_t hash = wire::siphash24(tag_key_, all_);
    return {hash, ~hash};
  }

  const wire::JobKey text_key_, tag_key_;
  std::vector<std::byte> all_;
};

class ModelSuite final : public wire::CipherSuite {
 public:
  wire::SecretKey derive(const wire::SecretKey& key, Bytes label) const noexcept override {
    const wire::JobKey low = half(key, 0), high = half(key, 1);
    const wire::JobKey words[2] = {
        {wire::siphash24(low, label), wire::siphash24(high, label)},
        {wire::siphash24({low[1], low[0]}, label), wire::siphash24({high[1], high[0]}, label)}};
    wire::SecretKey out;
    std::memcpy(out.data(), words, sizeof out);
    return out;
  }
  std::unique_ptr<wire::Cipher> make(const wire::SecretKey& key) const noexcept override {
    return std::make_unique<ModelCipher>(key);
  }
};

}  // namespace

const wire::CipherSuite& model_suite() noexcept {
  static const ModelSuite suite;
  return suite;
}

wire::SecretKey model_key(const wire::JobKey& key) noexcept {
  wire::SecretKey out{};
  std::memcpy(out.data(), key.data(), sizeof key);
  return out;
}

}  // namespace herald::sim
