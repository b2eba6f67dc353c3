// SPDX-License-Identifier: BSD-3-Clause
// wire/bulk_session.hpp: what protects the bulk frames of one TCP connection: a tag over head and checksum,
// or the cipher of HERALD_SECURE=auth and encrypt over every byte, with a key of the connection's own.
#pragma once
#include <cstring>
#include <memory>
#include <utility>

#include "wire/sealed.hpp"
#include "wire/stream.hpp"

namespace herald::wire {

class BulkSession {
 public:
  // Frames by tag and checksum.
  BulkSession(const StreamSession& tags = {}) noexcept : tags_(tags) {}
  // `level` is not tag. The nonces of both ends make the key that of this connection alone.
  BulkSession(const StreamSession& tags, Security level, const CipherSuite& suite, const SecretKey& key)
      : tags_(tags), level_(level), cipher_(make_cipher(tags, suite, key)) {}

  bool is_sealed() const noexcept { return level_ != Security::tag; }
  bool is_encrypted() const noexcept { return level_ == Security::encrypt; }
  std::size_t trailer_bytes() const noexcept { return is_sealed() ? kCipherTag : 0; }
  std::uint64_t head_tag(std::uint64_t number, const BulkHead& head) const noexcept {
    return tags_.bulk_tag(number, head);
  }

  // Of the frame `number`. Encrypted: writes the text and then the tag to `out`; else the tag alone.
  void seal(std::uint64_t number, const BulkHead& head, std::span<const std::byte> text,
            std::byte* out) noexcept {
    if (is_encrypted())
      cipher_->seal(nonce_of(0, number), {bytes_of(head)}, text, {}, out);
    else
      cipher_->seal(nonce_of(0, number), {bytes_of(head), text}, {}, {}, out);
  }
  // In place. False: this is not what the other end sealed.
  bool open(std::uint64_t number, const BulkHead& head, std::span<std::byte> text,
            std::span<const std::byte, kCipherTag> tag) noexcept {
    if (is_encrypted())
      return cipher_->open_text(nonce_of(0, number), {bytes_of(head)}, text, tag, text.data());
    return cipher_->open_text(nonce_of(0, number), {bytes_of(head), text}, {}, tag, nullptr);
  }

 private:
  struct Label {
    char word[4] = {'b', 'u', 'l', 'k'};
    std::array<Le<std::uint64_t>, 4> connection;
  };
  static std::span<const std::byte> bytes_of(const BulkHead& head) noexcept {
    return {reinterpret_cast<const std::byte*>(&head), sizeof head};
  }
  static std::unique_ptr<Cipher> make_cipher(const StreamSession& tags, const CipherSuite& suite,
                                             const SecretKey& key) {
    Label label;
    const std::array<std::uint64_t, 4> words = tags.words();
    for (std::size_t i = 0; i < words.size(); ++i) label.connection[i] = words[i];
    return suite.make(suite.derive(key, {reinterpret_cast<const std::byte*>(&label), sizeof label}));
  }

  StreamSession tags_;
  Security level_ = Security::tag;
  std::unique_ptr<Cipher> cipher_;  // null: level_ is tag
};

}  // namespace herald::wire
