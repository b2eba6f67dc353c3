// SPDX-License-Identifier: BSD-3-Clause
#include "group/address.hpp"

#include <charconv>
#include <cstring>

namespace herald::group {
namespace {

std::uint64_t mix(const wire::JobKey& key, std::uint64_t value) noexcept {
  std::array<std::byte, 8> bytes;
  std::memcpy(bytes.data(), &value, sizeof value);
  return wire::siphash24(key, bytes);
}

constexpr std::uint64_t kGroupSalt = 0x67726f7570000000u;
constexpr std::uint64_t kPortSalt = 0x706f727400000000u;
constexpr std::uint16_t kFirstPort = 20000, kPorts = 12000;  // below the ephemeral ports of systems
constexpr std::size_t kMaxAddresses = 64;                    // with foreign traffic

// Removes a number up to `most` from the beginning of the text.
bool take_number(std::string_view& text, std::uint32_t most, std::uint32_t& value) noexcept {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value > most) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

}  // namespace

bool read_range(std::string_view text, Pool& pool) noexcept {
  std::uint32_t first = 0, bits = 0;
  for (int i = 0; i < 4; ++i) {
    std::uint32_t part = 0;
    if (i != 0 && (text.empty() || text.front() != '.')) return false;
    if (i != 0) text.remove_prefix(1);
    if (!take_number(text, 255, part)) return false;
    first = first << 8 | part;
  }
  if (text.empty() || text.front() != '/') return false;
  text.remove_prefix(1);
  if (!take_number(text, 32, bits) || !text.empty() || bits < 4 || first >> 28 != 0xe) return false;
  const std::uint32_t hosts = bits == 32 ? 0 : 0xffffffffu >> bits;
  pool.first = first & ~hosts;
  pool.bits = bits;
  return true;
}

Address address_of(const Pool& pool, std::uint64_t lane, std::uint8_t index) noexcept {
  const bool shared = index >= kSharedAddressIndex;
  const std::uint64_t place = shared ? kGroups : mix(pool.key, lane) % kGroups;
  const std::uint64_t number = mix(pool.key, kGroupSalt + place) + (shared ? 0 : index);
  Address address{};
  if (pool.family == 4) {
    const std::uint32_t hosts = pool.bits == 32 ? 0 : 0xffffffffu >> pool.bits;
    const std::uint32_t host = pool.first | (static_cast<std::uint32_t>(number) & hosts);
    address = {static_cast<std::uint8_t>(host >> 24), static_cast<std::uint8_t>(host >> 16 & 0xff),
               static_cast<std::uint8_t>(host >> 8 & 0xff), static_cast<std::uint8_t>(host & 0xff)};
    return address;
  }
  address[0] = 0xff;
  address[1] = 0x15;
  std::memcpy(address.data() + 8, &number, sizeof number);
  return address;
}

std::uint16_t port_of(const Pool& pool) noexcept {
  if (pool.port != 0) return pool.port;
  return static_cast<std::uint16_t>(kFirstPort + mix(pool.key, kPortSalt) % kPorts);
}

bool ForeignTraffic::on_foreign(Instant now, const Address& address) {
  if (seen_.size() >= kMaxAddresses && seen_.count(address) == 0) seen_.clear();
  Count& count = seen_[address];
  if (count.datagrams == 0 || now - count.since >= kInterval) count = {now, 0};
  return ++count.datagrams == kMany;
}

}  // namespace herald::group
