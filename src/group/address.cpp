// SPDX-License-Identifier: BSD-3-Clause
#include "group/address.hpp"

#include <cstring>

namespace herald::group {
namespace {

std::uint64_t mix(const wire::JobKey& key, std::uint64_t what) noexcept {
  std::array<std::byte, 8> bytes;
  std::memcpy(bytes.data(), &what, sizeof what);
  return wire::siphash24(key, bytes);
}

constexpr std::uint64_t kGroupSalt = 0x67726f7570000000u;
constexpr std::uint64_t kPortSalt = 0x706f727400000000u;
constexpr std::uint16_t kFirstPort = 20000, kPorts = 12000;  // below what systems give out by themselves

}  // namespace

Address address_of(const wire::JobKey& key, std::uint64_t lane, std::uint8_t family) noexcept {
  const std::uint64_t number = mix(key, kGroupSalt + mix(key, lane) % kGroups);
  Address address{};
  if (family == 4) {
    const std::uint32_t host = 0xefc00000u | (static_cast<std::uint32_t>(number) & 0x3ffffu);
    address = {static_cast<std::uint8_t>(host >> 24), static_cast<std::uint8_t>(host >> 16 & 0xff),
               static_cast<std::uint8_t>(host >> 8 & 0xff), static_cast<std::uint8_t>(host & 0xff)};
    return address;
  }
  address[0] = 0xff;
  address[1] = 0x15;
  std::memcpy(address.data() + 8, &number, sizeof number);
  return address;
}

std::uint16_t port_of(const wire::JobKey& key) noexcept {
  return static_cast<std::uint16_t>(kFirstPort + mix(key, kPortSalt) % kPorts);
}

}  // namespace herald::group
