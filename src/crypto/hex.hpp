// SPDX-License-Identifier: BSD-3-Clause
// crypto/hex.hpp: bytes as lower-case hexadecimal digits, as cards carry them.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace herald::crypto {

std::string write_hex(std::span<const std::byte> bytes);
// False if the text is not exactly so many bytes.
bool read_hex(std::string_view text, std::span<std::byte> bytes) noexcept;

}  // namespace herald::crypto
