// SPDX-License-Identifier: BSD-3-Clause
// type/pack.hpp: whole buffers at once: packing, copying between layouts, external32, and counting elements.
// Const user memory is only read.
#pragma once
#include <cstddef>
#include <cstdint>

#include "type/layout.hpp"

namespace herald::type {

class Cursor;

// `count` items between user memory and packed bytes; `packed` has space for count * layout.size() bytes.
void pack(const Layout& layout, const void* user, std::int64_t count, void* packed) noexcept;
void unpack(const Layout& layout, void* user, std::int64_t count, const void* packed) noexcept;

// Copies until either cursor is at its end. Returns the bytes copied.
std::uint64_t copy(Cursor& from, Cursor& to) noexcept;

// Bytes of `count` items in external32 (big-endian, the sizes of the MPI standard's table); -1: beyond 64
// bits.
std::int64_t external32_size(const Layout& layout, std::int64_t count) noexcept;
// truncated: a value does not fit its external form (a long beyond 32 bits, a wchar_t beyond 16).
Status pack_external32(const Layout& layout, const void* user, std::int64_t count, void* packed) noexcept;
void unpack_external32(const Layout& layout, void* user, std::int64_t count, const void* packed) noexcept;

// Basic elements that the first `bytes` bytes of items in a row cover; -1 if they end inside an element.
std::int64_t elements_in(const Layout& layout, std::uint64_t bytes) noexcept;
// Whole items in `bytes`; -1 if they end inside an item. An empty layout has 0 items in 0 bytes, else -1.
std::int64_t items_in(const Layout& layout, std::uint64_t bytes) noexcept;
// The inverse of elements_in: bytes of the first `elements` elements of items in a row; -1 beyond 64 bits.
std::int64_t bytes_of_elements(const Layout& layout, std::int64_t elements) noexcept;

}  // namespace herald::type
