// SPDX-License-Identifier: BSD-3-Clause
// group/address.hpp: which multicast address and port a lane of a job uses. Every member works it out alone.
// A job uses few groups (kGroups), whatever the number of its communicators: systems and switches join few
// (Linux: 20, igmp_max_memberships). Lanes that share one are told apart by their names in the packets, and
// jobs that share one by their keys.
#pragma once
#include <array>
#include <cstdint>

#include "wire/datagram.hpp"

namespace herald::group {

constexpr std::uint32_t kGroups = 16;  // of one job

using Address = std::array<std::uint8_t, 16>;

// Of family 4: 239.192.0.0/14 (the first 4 bytes); of family 6: ff15::/16.
Address address_of(const wire::JobKey& key, std::uint64_t lane, std::uint8_t family) noexcept;
std::uint16_t port_of(const wire::JobKey& key) noexcept;

}  // namespace herald::group
