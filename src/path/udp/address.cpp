// SPDX-License-Identifier: BSD-3-Clause
#include "path/udp/address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>
#include <cstring>

namespace herald::path::udp {

bool Address::is_link_local() const noexcept {
  if (family == 4) return raw[0] == 169 && raw[1] == 254;
  return family == 6 && raw[0] == 0xfe && (raw[1] & 0xc0) == 0x80;
}

bool Address::is_loopback() const noexcept {
  if (family == 4) return raw[0] == 127;
  Address one{6, {}};
  one.raw[15] = 1;
  return *this == one;
}

bool Prefix::contains(const Address& other) const noexcept {
  if (other.family != address.family) return false;
  const std::size_t whole = bits / 8;
  if (std::memcmp(address.raw.data(), other.raw.data(), whole) != 0) return false;
  if (bits % 8 == 0) return true;
  return ((address.raw[whole] ^ other.raw[whole]) >> (8 - bits % 8)) == 0;
}

bool parse_address(std::string_view text, Address& address) {
  char word[INET6_ADDRSTRLEN];
  if (text.empty() || text.size() >= sizeof word) return false;
  text.copy(word, text.size());
  word[text.size()] = 0;
  Address read;
  if (inet_pton(AF_INET, word, read.raw.data()) == 1)
    read.family = 4;
  else if (inet_pton(AF_INET6, word, read.raw.data()) == 1)
    read.family = 6;
  else
    return false;
  address = read;
  return true;
}

bool parse_prefix(std::string_view text, Prefix& prefix) {
  const std::size_t slash = text.find('/');
  Prefix read;
  if (!parse_address(text.substr(0, slash), read.address)) return false;
  int bits = read.address.bits();
  if (slash != std::string_view::npos) {
    const std::string_view number = text.substr(slash + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), bits);
    if (error != std::errc{} || end != number.data() + number.size() || bits < 0 ||
        bits > read.address.bits())
      return false;
  }
  read.bits = static_cast<std::uint8_t>(bits);
  prefix = read;
  return true;
}

std::string to_text(const Address& address) {
  char word[INET6_ADDRSTRLEN] = "none";
  if (address.family != 0)
    (void)inet_ntop(address.family == 4 ? AF_INET : AF_INET6, address.raw.data(), word, sizeof word);
  return word;
}

socklen_t to_sockaddr(const Address& address, std::uint16_t port, std::uint32_t scope,
                      sockaddr_storage& out) noexcept {
  std::memset(&out, 0, sizeof out);
  if (address.family == 4) {
    auto& in = reinterpret_cast<sockaddr_in&>(out);
    in.sin_family = AF_INET;
    in.sin_port = htons(port);
    std::memcpy(&in.sin_addr, address.raw.data(), sizeof in.sin_addr);
    return sizeof in;
  }
  auto& in = reinterpret_cast<sockaddr_in6&>(out);
  in.sin6_family = AF_INET6;
  in.sin6_port = htons(port);
  std::memcpy(&in.sin6_addr, address.raw.data(), sizeof in.sin6_addr);
  in.sin6_scope_id = address.is_link_local() ? scope : 0;
  return sizeof in;
}

bool from_sockaddr(const sockaddr* in, Address& address) noexcept {
  if (in == nullptr) return false;
  Address read;
  if (in->sa_family == AF_INET) {
    read.family = 4;
    std::memcpy(read.raw.data(), &reinterpret_cast<const sockaddr_in*>(in)->sin_addr, 4);
  } else if (in->sa_family == AF_INET6) {
    read.family = 6;
    std::memcpy(read.raw.data(), &reinterpret_cast<const sockaddr_in6*>(in)->sin6_addr, 16);
  } else {
    return false;
  }
  address = read;
  return true;
}

}  // namespace herald::path::udp
