// SPDX-License-Identifier: BSD-3-Clause
// path/random.hpp: random bits from the kernel, for keys, nonces and seeds.
#pragma once
#include <cstdint>

namespace herald::path {

// Ends the process with a message if the kernel gives none: a key that somebody can guess protects nothing.
std::uint64_t random_number() noexcept;

}  // namespace herald::path
