// SPDX-License-Identifier: BSD-3-Clause
// wire/crc32c.hpp: the three implementations of crc32c() (datagram.hpp), for tests to compare.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace herald::wire {

// By tables, eight bytes at a time: portable.
std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t before) noexcept;

// By crc32 instructions, three rows at a time; only if crc32c_has_instructions().
bool crc32c_has_instructions() noexcept;
std::uint32_t crc32c_by_instructions(std::span<const std::byte> bytes, std::uint32_t before) noexcept;

// By carry-less multiplication of 64 bytes at a time, on processors that have it; only if crc32c_is_wide().
bool crc32c_is_wide() noexcept;
std::uint32_t crc32c_wide(std::span<const std::byte> bytes, std::uint32_t before) noexcept;

}  // namespace herald::wire
