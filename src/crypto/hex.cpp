// SPDX-License-Identifier: BSD-3-Clause
#include "crypto/hex.hpp"

namespace herald::crypto {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

std::string write_hex(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<std::size_t>(byte >> 4)];
    text += kDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return text;
}

bool read_hex(std::string_view text, std::span<std::byte> bytes) noexcept {
  if (text.size() != 2 * bytes.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = kDigits.find(text[i]);
    if (digit == std::string_view::npos) return false;
    const auto value = static_cast<std::byte>(digit);
    bytes[i / 2] = i % 2 == 0 ? value << 4 : bytes[i / 2] | value;
  }
  return true;
}

}  // namespace herald::crypto
