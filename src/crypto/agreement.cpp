// SPDX-License-Identifier: BSD-3-Clause
#include "crypto/agreement.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "crypto/hex.hpp"
#include "wire/le.hpp"

namespace herald::crypto {
namespace {

constexpr std::size_t kSealed = sizeof(SecretKey) + wire::kCipherTag;  // bytes; twice as many digits
constexpr wire::Nonce kNonce{};                                        // each key encrypts one text

std::span<const std::byte> bytes_of(std::string_view text) noexcept {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// Words and numbers, so that no two inputs to a MAC can be alike.
std::string label(std::string_view word, std::initializer_list<std::uint32_t> numbers) {
  std::string text(word);
  for (const std::uint32_t number : numbers) {
    const wire::Le<std::uint32_t> value = number;
    text.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return text;
}

int parent_of(int rank) noexcept { return (rank - 1) / kChildren; }
std::int64_t first_child_of(int rank) noexcept { return std::int64_t{rank} * kChildren + 1; }

void wipe(SecretKey& key) noexcept {
  volatile std::byte* const at = key.data();
  for (std::size_t i = 0; i < key.size(); ++i) at[i] = std::byte{};
}

}  // namespace

bool equal(std::string_view a, std::string_view b) noexcept {
  unsigned different = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    different |= static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
  return different == 0;
}

Agreement::~Agreement() {
  for (auto& [rank, key] : keys_) wipe(key);
  wipe(secrets_.own);
  wipe(secrets_.node);
  wipe(secrets_.common);
}

std::string Agreement::public_text() const {
  SecretKey key{};
  return own_.public_key(key) ? write_hex(key) : std::string();
}

std::string Agreement::sign(int rank, std::string_view text) const {
  const std::string all = label("herald card", {place_.epoch, static_cast<std::uint32_t>(rank),
                                                static_cast<std::uint32_t>(place_.size)}) +
                          std::string(text);
  return write_hex(library_.mac(secrets_.common, bytes_of(all)));
}

SecretKey Agreement::key_between(int parent, int child, const SecretKey& shared) const {
  const std::string words = label(
      "herald tree", {place_.epoch, static_cast<std::uint32_t>(parent), static_cast<std::uint32_t>(child)});
  return library_.derive(library_.mac(secrets_.common, shared), bytes_of(words));
}

bool Agreement::add(int rank, std::string_view text) {
  const bool is_child = rank > 0 && parent_of(rank) == place_.rank;
  const bool is_parent = place_.rank > 0 && parent_of(place_.rank) == rank;
  if (!is_child && !is_parent) return true;
  SecretKey theirs{}, shared{};
  if (!read_hex(text, theirs) || !own_.agree(theirs, shared)) return false;
  keys_[rank] = is_child ? key_between(place_.rank, rank, shared) : key_between(rank, place_.rank, shared);
  wipe(shared);
  return true;
}

std::string Agreement::seal(const SecretKey& key, const SecretKey& text) const {
  std::array<std::byte, kSealed> out;
  library_.cipher(Aead::aes_128_gcm, key)->seal(kNonce, {}, text, {}, out.data());
  return write_hex(out);
}

bool Agreement::open(const SecretKey& key, std::string_view sealed, SecretKey& text) const {
  std::array<std::byte, kSealed> bytes;
  return read_hex(sealed, bytes) &&
         library_.cipher(Aead::aes_128_gcm, key)->open(kNonce, {}, bytes, text.data());
}

// For each child the node secret; before them, for all ranks but 0, the key between us and our parent.
std::string Agreement::node_text() const {
  const std::int64_t first = first_child_of(place_.rank);
  const std::int64_t end = std::min<std::int64_t>(first + kChildren, place_.size);
  if (first >= end) return {};
  std::string text;
  if (place_.rank != 0)
    text = seal(library_.derive(secrets_.node, bytes_of("herald parent")), keys_.at(parent_of(place_.rank)));
  for (std::int64_t child = first; child < end; ++child)
    text += seal(keys_.at(static_cast<int>(child)), secrets_.node);
  return text;
}

bool Agreement::finish(const Get& get, SecretKey& job) const {
  constexpr std::size_t kLetters = 2 * kSealed;
  SecretKey node = secrets_.node;
  int child = place_.rank;
  SecretKey key = child != 0 ? keys_.at(parent_of(child)) : SecretKey{};
  while (child != 0) {
    const int parent = parent_of(child);
    std::string text;
    if (!get(parent, text)) return false;
    std::string_view rest = text;
    const std::string_view up = rest.substr(0, parent == 0 ? 0 : std::min(kLetters, rest.size()));
    rest.remove_prefix(up.size());
    const auto at = static_cast<std::size_t>(child - first_child_of(parent)) * kLetters;
    if (at >= rest.size() || !open(key, rest.substr(at, kLetters), node)) return false;
    if (parent != 0 && !open(library_.derive(node, bytes_of("herald parent")), up, key)) return false;
    child = parent;
  }
  const std::string words = label("herald job", {place_.epoch, static_cast<std::uint32_t>(place_.size)});
  job = library_.derive(library_.mac(secrets_.common, node), bytes_of(words));
  wipe(node);
  wipe(key);
  return true;
}

}  // namespace herald::crypto
