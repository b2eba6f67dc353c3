// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a sealed datagram is read beyond its end, or accepted though no rank sealed it; or the
// text that comes out is longer than what went in. The first byte chooses level, way, and whether the tag is
// made right, so that the code behind it is reached.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "node/envelope.hpp"

using namespace herald;

namespace {

// The tag is the key; nothing is hidden.
struct OpenCipher final : wire::Cipher {
  explicit OpenCipher(const wire::SecretKey& key) : key_(key) {}
  void seal(const wire::Nonce&, const wire::ClearText&, std::span<const std::byte>,
            std::span<const std::byte>, std::byte*) noexcept override {}
  bool open_text(const wire::Nonce&, const wire::ClearText&, std::span<const std::byte> sealed,
                 std::span<const std::byte, wire::kCipherTag> tag, std::byte* out) noexcept override {
    if (!sealed.empty()) std::memcpy(out, sealed.data(), sealed.size());
    // Not memcmp: the fuzzer would learn the key from its arguments.
    std::byte differs{};
    for (std::size_t i = 0; i < wire::kCipherTag; ++i) differs |= tag[i] ^ key_[i];
    return differs == std::byte{};
  }
  const wire::SecretKey key_;
};

struct OpenSuite final : wire::CipherSuite {
  wire::SecretKey derive(const wire::SecretKey& key, std::span<const std::byte>) const noexcept override {
    return key;
  }
  std::unique_ptr<wire::Cipher> make(const wire::SecretKey& key) const noexcept override {
    return std::make_unique<OpenCipher>(key);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const bool encrypts = (data[0] & 1) != 0, group = (data[0] & 2) != 0, with_tag = (data[0] & 4) != 0;
  std::vector<std::byte> datagram(size - 1);
  if (size > 1) std::memcpy(datagram.data(), data + 1, size - 1);
  wire::SecretKey key{};
  std::memcpy(key.data(), "a key that no input has", 23);
  if (with_tag && datagram.size() >= wire::kCipherTag)
    std::memcpy(datagram.data() + datagram.size() - wire::kCipherTag, key.data(), wire::kCipherTag);
  rel::MeshConfig mesh;
  mesh.me = 1;
  mesh.peers = 4;
  mesh.seal.epoch = 0x0304;
  mesh.datagram_bytes = 1400;
  const OpenSuite suite;
  node::Envelope envelope({encrypts ? wire::Security::encrypt : wire::Security::auth, &suite, key}, mesh);
  const auto opened = envelope.open(group, 7, datagram);
  if (opened.empty()) return 0;
  if (!with_tag || opened.size() + wire::kSealedHead + wire::kCipherTag > datagram.size()) std::abort();
  return 0;
}
