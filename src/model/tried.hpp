// SPDX-License-Identifier: BSD-3-Clause
// model/tried.hpp: what run times have told where predictions were close or wrong, for later jobs.
#pragma once
#include <cstddef>
#include <string>

namespace herald::model {

struct Tried {
  std::string collective;
  int ranks = 0, hosts = 0;
  int bits = 0;           // of the length in bytes
  std::string algorithm;  // the fastest
  bool is_like(const Tried& other) const noexcept {
    return collective == other.collective && ranks == other.ranks && hosts == other.hosts &&
           bits == other.bits;
  }
  bool operator==(const Tried&) const = default;
};
constexpr std::size_t kMostTried = 512;

}  // namespace herald::model
