// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a sealed datagram that was altered, or is for another rank, lane, job or epoch, is
// opened; encrypted text can be read; a nonce is used twice under a key; a key is never renewed, so that old
// copies are taken for new when sequences wrap around.
#include "node/envelope.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>

#include "crypto/library.hpp"
#include "wire/lane.hpp"

using namespace herald;
using namespace herald::node;
using wire::Security;

namespace {

using Bytes = std::vector<std::byte>;
using View = std::span<const std::byte>;

constexpr std::string_view kSecret = "a text that nobody else may read";

// A cipher that hides nothing, and records which nonces each key has sealed. The tag is the key.
struct OpenSuite final : wire::CipherSuite {
  struct OpenCipher final : wire::Cipher {
    OpenCipher(const OpenSuite& suite, const wire::SecretKey& key) : suite_(suite), key_(key) {}
    void seal(const wire::Nonce& nonce, const wire::ClearText&, View first, View rest,
              std::byte* out) noexcept override {
      out = std::copy(rest.begin(), rest.end(), std::copy(first.begin(), first.end(), out));
      std::copy_n(key_.begin(), wire::kCipherTag, out);
      if (suite_.records) suite_.repeated |= !suite_.used.insert({key_, nonce}).second;
    }
    bool open_text(const wire::Nonce&, const wire::ClearText&, View text,
                   std::span<const std::byte, wire::kCipherTag> tag, std::byte* out) noexcept override {
      std::copy(text.begin(), text.end(), out);
      return std::equal(tag.begin(), tag.end(), key_.begin());
    }
    const OpenSuite& suite_;
    const wire::SecretKey key_;
  };
  wire::SecretKey derive(const wire::SecretKey& key, View label) const noexcept override {
    wire::SecretKey out = key;
    std::copy_n(label.begin(), std::min(label.size(), out.size()), out.begin());
    return out;
  }
  std::unique_ptr<wire::Cipher> make(const wire::SecretKey& key) const noexcept override {
    ++made;
    return std::make_unique<OpenCipher>(*this, key);
  }
  mutable std::set<std::pair<wire::SecretKey, wire::Nonce>> used;
  mutable bool repeated = false;
  mutable int made = 0;
  bool records = true;
};

rel::MeshConfig mesh_config(int me, std::uint32_t epoch = 3) {
  rel::MeshConfig mesh;
  mesh.me = me;
  mesh.peers = 4;
  mesh.seal.epoch = epoch;
  mesh.datagram_bytes = 1400;
  return mesh;
}

Bytes text_of(std::uint64_t lane) {
  Bytes bytes(sizeof(wire::DatagramHead) + sizeof lane);
  const wire::Le<std::uint64_t> name = lane;
  std::memcpy(bytes.data() + sizeof(wire::DatagramHead), &name, sizeof name);
  const View secret(reinterpret_cast<const std::byte*>(kSecret.data()), kSecret.size());
  bytes.insert(bytes.end(), secret.begin(), secret.end());
  return bytes;
}

// `to`: a peer, or -1 for the group of a lane.
Bytes sealed(Envelope& envelope, int to, View datagram, View rest = {}) {
  auto batch = std::make_unique<rel::TxBatch>();
  batch->entries[0] = {to, 0, datagram, rest};
  batch->count = 1;
  envelope.seal(*batch);
  EXPECT_TRUE(batch->entries[0].rest.empty());
  return {batch->entries[0].datagram.begin(), batch->entries[0].datagram.end()};
}

struct EnvelopeTest : testing::TestWithParam<Security> {
  void SetUp() override {
    std::string why;
    library = crypto::Library::load(why);
    if (library == nullptr) GTEST_SKIP() << why;
  }
  Envelope make(int me, std::byte key = std::byte{1}, std::uint32_t epoch = 3,
                crypto::Aead aead = crypto::Aead::aes_128_gcm) {
    static std::vector<std::unique_ptr<crypto::Suite>> suites;
    suites.push_back(std::make_unique<crypto::Suite>(*library, aead));
    return Envelope({GetParam(), suites.back().get(), {key}}, mesh_config(me, epoch));
  }
  const crypto::Library* library = nullptr;
};

bool is_in(View all, std::string_view text) {
  const std::string_view chars(reinterpret_cast<const char*>(all.data()), all.size());
  return chars.find(text) != std::string_view::npos;
}

}  // namespace

TEST_P(EnvelopeTest, the_receiver_reads_it_and_others_only_if_it_is_not_encrypted) {
  for (const crypto::Aead aead : {crypto::Aead::aes_128_gcm, crypto::Aead::chacha20_poly1305}) {
    Envelope one = make(1, std::byte{1}, 3, aead), two = make(2, std::byte{1}, 3, aead);
    const Bytes text = text_of(77);
    for (int i = 0; i < 300; ++i) {  // beyond the first change of keys
      const bool group = i % 3 == 0;
      const std::size_t head = i % 2 == 0 ? text.size() : 30;
      const Bytes all = sealed(one, group ? -1 : 2, View(text).first(head), View(text).subspan(head));
      EXPECT_LE(all.size(), text.size() + wire::kSealedMost);
      EXPECT_EQ(is_in(all, kSecret), GetParam() == Security::auth);
      const View opened = two.open(group, 5, all);
      ASSERT_TRUE(std::equal(opened.begin(), opened.end(), text.begin(), text.end())) << i;
    }
    EXPECT_EQ(two.counters().all(), 0u);
  }
}

TEST_P(EnvelopeTest, a_full_datagram_fits_and_is_whole_blocks) {
  for (std::uint32_t room = 500; room < 600; ++room) {
    const std::uint32_t most = wire::longest_inside(GetParam(), room);
    const std::uint32_t blocks = most + (GetParam() == Security::auth ? wire::kSealedGroupHead : 0u);
    EXPECT_EQ(blocks % 16, 0u);
    EXPECT_LE(most + wire::kSealedMost, room);
    EXPECT_GT(most + wire::kSealedMost + 16, room);
    EXPECT_EQ(wire::longest_inside(Security::tag, room), room);
  }
}

TEST_P(EnvelopeTest, no_altered_bit_and_no_cut_end_is_accepted) {
  Envelope one = make(1), two = make(2);
  for (const bool group : {false, true}) {
    Bytes all = sealed(one, group ? -1 : 2, text_of(5));
    ASSERT_FALSE(two.open(group, 0, all).empty());
    for (std::size_t bit = 0; bit < 8 * all.size(); ++bit) {
      all[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
      EXPECT_TRUE(two.open(group, 0, all).empty()) << bit;
      all[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    }
    for (std::size_t bytes = 0; bytes < all.size(); ++bytes)
      EXPECT_TRUE(two.open(group, 0, View(all).first(bytes)).empty()) << bytes;
    EXPECT_TRUE(two.open(!group, 0, all).empty());
    ASSERT_FALSE(two.open(group, 0, all).empty());
  }
  EXPECT_GT(two.counters().forged, 0u);
  EXPECT_GT(two.counters().stale, 0u);
  EXPECT_GT(two.counters().malformed, 0u);
}

TEST_P(EnvelopeTest, other_ranks_jobs_epochs_and_levels_refuse_it) {
  Envelope one = make(1);
  const Bytes to_two = sealed(one, 2, text_of(5)), to_all = sealed(one, -1, text_of(5));
  EXPECT_TRUE(make(3).open(false, 0, to_two).empty());
  EXPECT_TRUE(make(1).open(false, 0, to_two).empty());
  EXPECT_FALSE(make(3).open(true, 0, to_all).empty());
  for (const bool group : {false, true}) {
    const Bytes& all = group ? to_all : to_two;
    EXPECT_TRUE(make(2, std::byte{2}).open(group, 0, all).empty());
    EXPECT_TRUE(make(2, std::byte{1}, 4).open(group, 0, all).empty());
    const Security other = GetParam() == Security::auth ? Security::encrypt : Security::auth;
    const crypto::Suite suite(*library, crypto::Aead::aes_128_gcm);
    EXPECT_TRUE(Envelope({other, &suite, {std::byte{1}}}, mesh_config(2)).open(group, 0, all).empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, EnvelopeTest, testing::Values(Security::auth, Security::encrypt));

TEST(EnvelopeKeys, no_nonce_is_used_twice_and_both_directions_differ) {
  const OpenSuite suite;
  Envelope one({Security::encrypt, &suite, {}}, mesh_config(1));
  Envelope two({Security::encrypt, &suite, {}}, mesh_config(2));
  const Bytes text = text_of(5), other = text_of(6);
  for (int i = 0; i < 500; ++i) {
    (void)sealed(one, 2, text);
    (void)sealed(two, 1, text);
    (void)sealed(one, 3, text);
    (void)sealed(one, -1, i % 2 == 0 ? text : other);
    (void)sealed(two, -1, text);
  }
  EXPECT_FALSE(suite.repeated);
  EXPECT_EQ(suite.used.size(), 2500u);
}

TEST(EnvelopeKeys, copies_from_two_generations_ago_are_refused) {
  OpenSuite suite;
  suite.records = false;
  for (const bool group : {false, true}) {
    Envelope one({Security::encrypt, &suite, {}}, mesh_config(1));
    Envelope two({Security::encrypt, &suite, {}}, mesh_config(2));
    const Bytes text = text_of(5);
    const int to = group ? -1 : 2;
    const Bytes first = sealed(one, to, text);
    ASSERT_FALSE(two.open(group, 0, first).empty());
    auto batch = std::make_unique<rel::TxBatch>();
    const auto skip = [&](std::uint64_t count) {
      while (count != 0) {
        batch->count = std::min<std::uint64_t>(count, rel::TxBatch::kMost);
        for (std::size_t i = 0; i < batch->count; ++i) batch->entries[i] = {to, 0, text, {}};
        one.seal(*batch);
        count -= batch->count;
      }
    };
    skip(200);
    const Bytes second = sealed(one, to, text);
    ASSERT_FALSE(two.open(group, 0, second).empty());
    EXPECT_FALSE(two.open(group, 0, first).empty()) << "it may have been overtaken";
    skip(std::uint64_t{1} << wire::kGenerationBits);
    const Bytes third = sealed(one, to, text);
    ASSERT_FALSE(two.open(group, 0, third).empty());
    EXPECT_FALSE(two.open(group, 0, second).empty());
    EXPECT_TRUE(two.open(group, 0, first).empty());
    EXPECT_EQ(two.counters().stale, 1u);
  }
}

// Forged datagrams must not fill memory with keys, nor displace good ones.
TEST(EnvelopeKeys, forged_numbers_and_lanes_leave_no_keys) {
  OpenSuite suite;
  suite.records = false;
  Envelope one({Security::encrypt, &suite, {}}, mesh_config(1));
  Envelope two({Security::encrypt, &suite, {}}, mesh_config(2));
  Bytes all = sealed(one, 2, text_of(5));
  ASSERT_FALSE(two.open(false, 0, all).empty());
  Bytes forged = all;
  auto& head = *reinterpret_cast<wire::SealedHead*>(forged.data());
  const int made = suite.made;
  for (std::uint64_t bit = wire::kGenerationBits + 1; bit < 64; ++bit) {
    head.number = std::uint64_t{1} << bit;
    EXPECT_TRUE(two.open(false, 0, forged).empty());
  }
  EXPECT_EQ(two.counters().malformed, 64u - 32 - wire::kGenerationBits);
  EXPECT_EQ(suite.made, made) << "a generation that cannot be is refused before a key is derived";
  head.number = std::uint64_t{1} << wire::kGenerationBits;
  EXPECT_TRUE(two.open(false, 0, forged).empty());
  ASSERT_FALSE(two.open(false, 0, all).empty());
  head.from = 4u;
  EXPECT_TRUE(two.open(false, 0, forged).empty());
  EXPECT_EQ(two.counters().malformed, 65u - 32 - wire::kGenerationBits);
}
