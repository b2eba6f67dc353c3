// SPDX-License-Identifier: BSD-3-Clause
// base/hash.hpp: a hash of a text that is the same on all machines (FNV-1a). Not for hostile input.
#pragma once
#include <cstdint>
#include <string_view>

namespace herald {

constexpr std::uint64_t hash_text(std::string_view text) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace herald
