// SPDX-License-Identifier: BSD-3-Clause
// group/address.hpp: which multicast address and port a lane of a job uses. Every member computes it alone.
// A job uses few groups (kGroups), whatever the number of its communicators: systems and switches allow few
// joins (Linux: 20, igmp_max_memberships). Lanes in one group differ by their names in the packets, and jobs
// by their keys. A lane changes its address index if others use its address (ForeignTraffic), or to the
// address that all lanes of the job may share, if a member can join no more groups.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string_view>

#include "base/instant.hpp"
#include "wire/datagram.hpp"

namespace herald::group {

constexpr std::uint32_t kGroups = 16;  // of one job, and the shared one
constexpr std::uint8_t kSharedAddressIndex = 3;

using Address = std::array<std::uint8_t, 16>;

// The addresses that a job may use: the same on all its ranks.
struct Pool {
  wire::JobKey key{};
  std::uint8_t family = 4;           // 4 or 6
  std::uint32_t first = 0xefc00000;  // family 4: 239.192.0.0/14; family 6 has ff15::/16
  std::uint32_t bits = 14;
  std::uint16_t port = 0;  // 0: from the key
};

// "239.192.0.0/14". False: not a range of multicast addresses.
bool read_range(std::string_view text, Pool& pool) noexcept;

// The first 4 bytes for family 4. Every lane begins with index 0; kSharedAddressIndex is the last.
Address address_of(const Pool& pool, std::uint64_t lane, std::uint8_t index) noexcept;
std::uint16_t port_of(const Pool& pool) noexcept;

// Datagrams on our groups that are not of this job.
class ForeignTraffic {
 public:
  static constexpr Duration kInterval = milliseconds(1000);
  static constexpr std::uint32_t kMany = 64;  // within an interval

  // True once in an interval: there are many, so another program uses the address.
  bool on_foreign(Instant now, const Address& address);

 private:
  struct Count {
    Instant since{};
    std::uint32_t datagrams = 0;
  };
  std::map<Address, Count> seen_;
};

}  // namespace herald::group
