// SPDX-License-Identifier: BSD-3-Clause
#include "type/cursor.hpp"

#include "type/pack.hpp"
#include "type/walk.hpp"

namespace herald::type {
namespace {

char* pointer(Address address) noexcept { return reinterpret_cast<char*>(address); }

// Copies of a few bytes: a move or two instead of a call.
inline void copy_bytes(char* to, const char* from, std::size_t bytes) noexcept {
  switch (bytes) {
    case 1: std::memcpy(to, from, 1); break;
    case 2: std::memcpy(to, from, 2); break;
    case 4: std::memcpy(to, from, 4); break;
    case 8: std::memcpy(to, from, 8); break;
    case 12: std::memcpy(to, from, 12); break;
    case 16: std::memcpy(to, from, 16); break;
    default: std::memcpy(to, from, bytes);
  }
}

// `count` blocks of kBytes each (0: of `bytes`), spaced unevenly on the two sides.
template <std::size_t kBytes>
void copy_blocks(char* to, std::int64_t to_stride, const char* from, std::int64_t from_stride,
                 std::size_t bytes, std::int64_t count) noexcept {
  if constexpr (kBytes != 0) bytes = kBytes;
  std::int64_t i = 0;
  if constexpr (kBytes != 0) {
    for (; i + 4 <= count; i += 4, to += 4 * to_stride, from += 4 * from_stride) {
      std::memcpy(to, from, kBytes);
      std::memcpy(to + to_stride, from + from_stride, kBytes);
      std::memcpy(to + 2 * to_stride, from + 2 * from_stride, kBytes);
      std::memcpy(to + 3 * to_stride, from + 3 * from_stride, kBytes);
    }
  }
  for (; i < count; ++i) {
    std::memcpy(to, from, bytes);
    if (i + 1 == count) break;  // no pointer past the memory
    to += to_stride;
    from += from_stride;
  }
}

void copy_strided(char* to, std::int64_t to_stride, const char* from, std::int64_t from_stride,
                  std::int64_t bytes, std::int64_t count) noexcept {
  switch (bytes) {
    case 1: return copy_blocks<1>(to, to_stride, from, from_stride, 1, count);
    case 2: return copy_blocks<2>(to, to_stride, from, from_stride, 2, count);
    case 4: return copy_blocks<4>(to, to_stride, from, from_stride, 4, count);
    case 8: return copy_blocks<8>(to, to_stride, from, from_stride, 8, count);
    case 12: return copy_blocks<12>(to, to_stride, from, from_stride, 12, count);
    case 16: return copy_blocks<16>(to, to_stride, from, from_stride, 16, count);
    case 24: return copy_blocks<24>(to, to_stride, from, from_stride, 24, count);
    case 32: return copy_blocks<32>(to, to_stride, from, from_stride, 32, count);
    case 64: return copy_blocks<64>(to, to_stride, from, from_stride, 64, count);
    default: return copy_blocks<0>(to, to_stride, from, from_stride, static_cast<std::size_t>(bytes), count);
  }
}

struct PackSink {
  char* to;

  bool run(Address at, std::int64_t bytes) noexcept {
    copy_bytes(to, pointer(at), static_cast<std::size_t>(bytes));
    to += bytes;
    return true;
  }
  bool strided(Address at, std::int64_t stride, std::int64_t bytes, std::int64_t count) noexcept {
    copy_strided(to, bytes, pointer(at), stride, bytes, count);
    to += bytes * count;
    return true;
  }
};

struct UnpackSink {
  const char* from;

  bool run(Address at, std::int64_t bytes) noexcept {
    copy_bytes(pointer(at), from, static_cast<std::size_t>(bytes));
    from += bytes;
    return true;
  }
  bool strided(Address at, std::int64_t stride, std::int64_t bytes, std::int64_t count) noexcept {
    copy_strided(pointer(at), stride, from, bytes, bytes, count);
    from += bytes * count;
    return true;
  }
};

struct RunSink {
  std::span<Run> out;
  std::size_t used = 0;
  std::uint64_t taken = 0;

  bool run(Address at, std::int64_t bytes) noexcept {
    const auto length = static_cast<std::size_t>(bytes);
    if (used != 0 && static_cast<char*>(out[used - 1].data) + out[used - 1].bytes == pointer(at)) {
      out[used - 1].bytes += length;
    } else if (used == out.size()) {
      return false;
    } else {
      out[used++] = Run{pointer(at), length};
    }
    taken += length;
    return true;
  }
  bool strided(Address at, std::int64_t stride, std::int64_t bytes, std::int64_t count) noexcept {
    for (std::int64_t i = 0; i < count; ++i, at += static_cast<Address>(stride)) {
      if (!run(at, bytes)) return false;
    }
    return true;
  }
};

template <class Sink>
void walk_items(const Layout& layout, Address base, std::uint64_t begin, std::uint64_t end,
                Sink& sink) noexcept {
  walk_turns(layout.move_tree(), base, layout.extent(), static_cast<std::int64_t>(begin),
             static_cast<std::int64_t>(end), sink);
}

}  // namespace

std::size_t Cursor::next_runs_slow(std::span<Run> out, std::size_t max_bytes) noexcept {
  const std::size_t length = clip(max_bytes);
  if (length == 0 || out.empty()) return 0;
  RunSink sink{out};
  walk_items(*layout_, base_, first_ + position_, first_ + position_ + length, sink);
  position_ += sink.taken;
  return sink.used;
}

std::size_t Cursor::pack_slow(void* to, std::size_t max_bytes) noexcept {
  const std::size_t length = clip(max_bytes);
  if (length == 0) return 0;
  PackSink sink{static_cast<char*>(to)};
  walk_items(*layout_, base_, first_ + position_, first_ + position_ + length, sink);
  position_ += length;
  return length;
}

std::size_t Cursor::unpack_slow(const void* from, std::size_t max_bytes) noexcept {
  const std::size_t length = clip(max_bytes);
  if (length == 0) return 0;
  UnpackSink sink{static_cast<const char*>(from)};
  walk_items(*layout_, base_, first_ + position_, first_ + position_ + length, sink);
  position_ += length;
  return length;
}

void pack(const Layout& layout, const void* user, std::int64_t count, void* packed) noexcept {
  Cursor cursor{layout, const_cast<void*>(user), count};  // only read
  cursor.pack(packed, cursor.total());
}

void unpack(const Layout& layout, void* user, std::int64_t count, const void* packed) noexcept {
  Cursor cursor{layout, user, count};
  cursor.unpack(packed, cursor.total());
}

std::uint64_t copy(Cursor& from, Cursor& to) noexcept {
  const std::uint64_t length = std::min(from.remaining(), to.remaining());
  if (to.contiguous()) {
    const std::size_t moved = from.pack(to.contiguous_at(), length);
    to.skip(moved);
    return moved;
  }
  for (std::uint64_t left = length; left != 0;) {
    Run runs[32];
    const std::size_t count = from.next_runs(runs, left);
    for (std::size_t i = 0; i < count; ++i) left -= to.unpack(runs[i].data, runs[i].bytes);
  }
  return length;
}

}  // namespace herald::type
