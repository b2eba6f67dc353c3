// SPDX-License-Identifier: BSD-3-Clause
// wire/crc32c.hpp: the three ways behind crc32c() of datagram.hpp, so that tests can compare them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace herald::wire {

// By tables, eight bytes at a time: anywhere.
std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t before) noexcept;

// By the processor's own instructions, three rows at a time; only if crc32c_has_instructions().
bool crc32c_has_instructions() noexcept;
std::uint32_t crc32c_by_instructions(std::span<const std::byte> bytes, std::uint32_t before) noexcept;

// By carry-less multiplication of 64 bytes at a time, where the processor has that; only if crc32c_is_wide().
bool crc32c_is_wide() noexcept;
std::uint32_t crc32c_wide(std::span<const std::byte> bytes, std::uint32_t before) noexcept;

}  // namespace herald::wire
