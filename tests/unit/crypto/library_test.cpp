// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a function of the library is declared wrongly and computes something else (published
// vectors tell); a sealed text that was altered, or opened with another key, nonce or clear part, is
// accepted.
#include "crypto/library.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "crypto/gnutls.hpp"
#include "crypto/hex.hpp"

using namespace herald;
using namespace herald::crypto;

namespace {

std::vector<std::byte> bytes(std::string_view hex) {
  std::vector<std::byte> out(hex.size() / 2);
  EXPECT_TRUE(read_hex(hex, out));
  return out;
}

SecretKey key(std::string_view hex) {
  SecretKey out{};
  EXPECT_TRUE(read_hex(hex, out));
  return out;
}

struct LibraryTest : testing::Test {
  void SetUp() override {
    std::string why;
    library = Library::load(why);
    if (library == nullptr) GTEST_SKIP() << why;
  }
  const Library* library = nullptr;
};

}  // namespace

TEST_F(LibraryTest, x25519_of_rfc_7748) {
  const auto alice =
      library->private_key(key("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"));
  const auto bob =
      library->private_key(key("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"));
  SecretKey public_a{}, public_b{}, shared_a{}, shared_b{};
  ASSERT_TRUE(alice.public_key(public_a) && bob.public_key(public_b));
  EXPECT_EQ(write_hex(public_a), "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
  EXPECT_EQ(write_hex(public_b), "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
  ASSERT_TRUE(alice.agree(public_b, shared_a) && bob.agree(public_a, shared_b));
  EXPECT_EQ(shared_a, shared_b);
  EXPECT_EQ(write_hex(shared_a), "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
  // The point at infinity yields no secret.
  EXPECT_FALSE(alice.agree(SecretKey{}, shared_a));
}

TEST_F(LibraryTest, hmac_of_rfc_4231) {
  SecretKey padded{};  // HMAC fills a short key with zeros
  std::memcpy(padded.data(), "Jefe", 4);
  const std::string_view text = "what do ya want for nothing?";
  EXPECT_EQ(write_hex(library->mac(padded, {reinterpret_cast<const std::byte*>(text.data()), text.size()})),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST_F(LibraryTest, published_texts_of_both_ciphers) {
  std::vector<std::byte> out(64 + wire::kCipherTag);
  // Test case 2 of the GCM specification: key, nonce and one block of zeros.
  const std::vector<std::byte> block(16);
  library->cipher(Aead::aes_128_gcm, SecretKey{})->seal({}, {}, block, {}, out.data());
  EXPECT_EQ(write_hex({out.data(), 32}), "0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf");
  // RFC 8439, 2.8.2: the first block and the clear part.
  const auto secret = key("808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f");
  wire::Nonce nonce{};
  ASSERT_TRUE(read_hex("070000004041424344454647", nonce));
  const std::string_view text =
      "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen "
      "would be it.";
  out.resize(text.size() + wire::kCipherTag);
  const std::span<const std::byte> all(reinterpret_cast<const std::byte*>(text.data()), text.size());
  library->cipher(Aead::chacha20_poly1305, secret)
      ->seal(nonce, {bytes("50515253c0c1c2c3c4c5c6c7")}, all.first(37), all.subspan(37), out.data());
  EXPECT_EQ(write_hex({out.data(), 16}), "d31a8d34648e60db7b86afbc53ef7ec2");
  EXPECT_EQ(write_hex({out.data() + text.size(), 16}), "1ae10b594f09e26a7e902ecbd0600691");
}

TEST_F(LibraryTest, nothing_that_was_altered_opens) {
  for (const Aead aead : {Aead::aes_128_gcm, Aead::chacha20_poly1305}) {
    SecretKey secret{};
    secret[3] = std::byte{5};
    const auto cipher = library->cipher(aead, secret);
    const std::vector<std::byte> clear(9, std::byte{7}), text(50, std::byte{8});
    std::vector<std::byte> sealed(text.size() + wire::kCipherTag), out(text.size());
    for (int round = 0; round < 3; ++round) {  // contexts are used again
      wire::Nonce nonce{};
      nonce[0] = static_cast<std::byte>(round);
      cipher->seal(nonce, {clear}, text, {}, sealed.data());
      ASSERT_TRUE(cipher->open(nonce, {clear}, sealed, out.data()));
      EXPECT_EQ(out, text);
      for (std::size_t bit = 0; bit < 8 * sealed.size(); bit += 5) {
        sealed[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
        EXPECT_FALSE(cipher->open(nonce, {clear}, sealed, out.data()));
        sealed[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
      }
      EXPECT_FALSE(cipher->open({std::byte{99}}, {clear}, sealed, out.data()));
      EXPECT_FALSE(cipher->open(nonce, {std::span(clear).first(8)}, sealed, out.data()));
      EXPECT_FALSE(cipher->open(nonce, {clear}, std::span(sealed).first(sealed.size() - 1), out.data()));
      EXPECT_FALSE(cipher->open(nonce, {clear}, std::span(sealed).first(15), out.data()));
      EXPECT_FALSE(library->cipher(aead, SecretKey{})->open(nonce, {clear}, sealed, out.data()));
    }
    // All in clear, authenticated only.
    cipher->seal({}, {clear}, {}, {}, sealed.data());
    EXPECT_TRUE(cipher->open({}, {clear}, std::span(sealed).first(wire::kCipherTag), out.data()));
    EXPECT_FALSE(cipher->open({}, {text}, std::span(sealed).first(wire::kCipherTag), out.data()));
  }
}

// What could go wrong: a long stream of datagrams changes its library, and a receiver that still uses the
// other one, or for the other level, cannot read it.
TEST_F(LibraryTest, gnutls_and_libcrypto_read_each_other) {
  const SecretKey secret{std::byte{9}, std::byte{4}};
  GnutlsCipher quick(secret);
  if (!quick.is_open()) GTEST_SKIP() << "no libgnutls.so.30";
  const std::vector<std::byte> clear(24, std::byte{7});
  for (const std::size_t size : {0u, 1u, 15u, 64u, 1432u, 8932u}) {
    const auto cipher = library->cipher(Aead::aes_128_gcm, secret);
    const std::vector<std::byte> text(size, std::byte{8});
    std::vector<std::byte> one(size + wire::kCipherTag), two(one), out(size + 1);
    const wire::Nonce nonce{std::byte{3}};
    cipher->seal(nonce, {clear}, text, {}, one.data());
    quick.seal(nonce, clear, text, two.data());
    EXPECT_EQ(one, two);
    ASSERT_TRUE(quick.open(nonce, clear, one, out.data()));
    EXPECT_TRUE(std::equal(text.begin(), text.end(), out.begin()));
    for (std::size_t bit = 0; bit < 8 * one.size(); bit += one.size() / 16 + 1) {
      one[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
      EXPECT_FALSE(quick.open(nonce, clear, one, out.data()));
      one[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    }
    EXPECT_FALSE(quick.open(nonce, std::span(clear).first(23), one, out.data()));
  }
}

TEST_F(LibraryTest, a_stream_goes_on_when_the_library_changes) {
  const auto cipher = library->cipher(Aead::aes_128_gcm, SecretKey{});
  const std::vector<std::byte> clear(24, std::byte{7}), text(100, std::byte{8});
  std::vector<std::byte> sealed(text.size() + wire::kCipherTag), out(text.size());
  for (int round = 0; round < 5000; ++round) {
    const wire::Nonce nonce{static_cast<std::byte>(round), static_cast<std::byte>(round >> 8)};
    if (round % 2 == 0) {
      cipher->seal(nonce, {clear}, text, {}, sealed.data());
      std::fill(out.begin(), out.end(), std::byte{});
      ASSERT_TRUE(cipher->open(nonce, {clear}, sealed, out.data())) << round;
      ASSERT_EQ(out, text) << round;
      sealed[50] ^= std::byte{1};
      ASSERT_FALSE(cipher->open(nonce, {clear}, sealed, out.data())) << round;
    } else {  // authenticated only
      cipher->seal(nonce, {text}, {}, {}, sealed.data());
      const auto tag = std::span(sealed).first(wire::kCipherTag);
      ASSERT_TRUE(cipher->open(nonce, {text}, tag, out.data())) << round;
      sealed[5] ^= std::byte{1};
      ASSERT_FALSE(cipher->open(nonce, {text}, tag, out.data())) << round;
    }
  }
}
