// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>

namespace herald::rel {

constexpr std::size_t kFrame = 66;  // bytes that Ethernet, IP and UDP add to a datagram

}  // namespace herald::rel
