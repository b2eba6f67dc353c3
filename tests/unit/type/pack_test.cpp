// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: external32 has the wrong byte order or size, so that other implementations cannot read
// it; a value that does not fit is not reported; a specialised copy loop moves a wrong block; absolute
// addresses (MPI_BOTTOM) or copies between two layouts are wrong.
#include "type/pack.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <thread>

#include "type/build.hpp"
#include "type/cursor.hpp"

namespace herald::type {
namespace {

using Bytes = std::vector<unsigned char>;
using Vec = std::vector<std::int64_t>;

template <class T>
Bytes external(Basic basic, T value) {
  const Layout& layout = basic_layout(basic);
  Bytes out(static_cast<std::size_t>(external32_size(layout, 1)));
  EXPECT_EQ(pack_external32(layout, &value, 1, out.data()), Status::ok);
  T back{};
  unpack_external32(layout, &back, 1, out.data());
  EXPECT_EQ(back, value);
  return out;
}

TEST(External32, golden_bytes) {
  EXPECT_EQ(external<int>(Basic::c_int, 0x01020304), (Bytes{1, 2, 3, 4}));
  EXPECT_EQ(external<int>(Basic::c_int, -2), (Bytes{0xff, 0xff, 0xff, 0xfe}));
  EXPECT_EQ(external<short>(Basic::c_short, 0x0102), (Bytes{1, 2}));
  EXPECT_EQ(external<long>(Basic::c_long, -3), (Bytes{0xff, 0xff, 0xff, 0xfd}));
  EXPECT_EQ(external<unsigned long>(Basic::c_unsigned_long, 0xfffffffeu), (Bytes{0xff, 0xff, 0xff, 0xfe}));
  EXPECT_EQ(external<long long>(Basic::c_long_long, 5), (Bytes{0, 0, 0, 0, 0, 0, 0, 5}));
  EXPECT_EQ(external<std::int64_t>(Basic::aint, 0x0102), (Bytes{0, 0, 0, 0, 0, 0, 1, 2}));
  EXPECT_EQ(external<wchar_t>(Basic::c_wchar, L'\xe9'), (Bytes{0, 0xe9}));
  EXPECT_EQ(external<float>(Basic::c_float, 1.0f), (Bytes{0x3f, 0x80, 0, 0}));
  EXPECT_EQ(external<double>(Basic::c_double, -2.0), (Bytes{0xc0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(external<long double>(Basic::c_long_double, 1.5L),
            (Bytes{0x3f, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(external<long double>(Basic::c_long_double, -2.0L),
            (Bytes{0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(external<char>(Basic::c_char, 'x'), (Bytes{'x'}));
}

TEST(External32, complex_is_two_numbers_and_pairs_have_no_gap) {
  const float c[2] = {1.0f, -2.0f};
  Bytes out(8);
  ASSERT_EQ(pack_external32(basic_layout(Basic::c_float_complex), c, 1, out.data()), Status::ok);
  EXPECT_EQ(out, (Bytes{0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0}));
  const struct {
    short value;
    int index;
  } pair = {1, 2};
  Bytes packed(6);
  EXPECT_EQ(external32_size(basic_layout(Basic::short_int), 1), 6);
  ASSERT_EQ(pack_external32(basic_layout(Basic::short_int), &pair, 1, packed.data()), Status::ok);
  EXPECT_EQ(packed, (Bytes{0, 1, 0, 0, 0, 2}));
}

TEST(External32, values_that_do_not_fit_are_reported) {
  const long big = 1L << 40;
  const wchar_t wide = static_cast<wchar_t>(0x1f600);
  const unsigned long large = 0xffffffffu;
  unsigned char out[8];
  EXPECT_EQ(pack_external32(basic_layout(Basic::c_long), &big, 1, out), Status::truncated);
  EXPECT_EQ(pack_external32(basic_layout(Basic::c_wchar), &wide, 1, out), Status::truncated);
  EXPECT_EQ(pack_external32(basic_layout(Basic::c_unsigned_long), &large, 1, out), Status::ok);
  EXPECT_EQ(pack_external32(basic_layout(Basic::c_long), &large, 1, out), Status::truncated);
}

TEST(Cursor, every_block_size_and_stride) {
  std::vector<unsigned char> memory(100000);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<unsigned char>(i * 131 >> 3);
  for (std::int64_t block = 1; block <= 70; ++block) {
    for (const std::int64_t stride : {block + 1, block * 2 + 3, -block - 2}) {
      const std::int64_t count = 37, start = stride < 0 ? 50000 : 0;
      LayoutRef layout;
      ASSERT_EQ(hvector(count, block, stride, basic_layout(Basic::byte), layout), Status::ok);
      std::vector<unsigned char> want, got(static_cast<std::size_t>(count * block));
      for (std::int64_t i = 0; i < count; ++i) {
        for (std::int64_t b = 0; b < block; ++b) {
          want.push_back(memory[static_cast<std::size_t>(start + i * stride + b)]);
        }
      }
      pack(*layout, memory.data() + start, 1, got.data());
      ASSERT_EQ(got, want) << block << " " << stride;
      std::vector<unsigned char> other(memory.size(), 0);
      unpack(*layout, other.data() + start, 1, got.data());
      std::vector<unsigned char> again(got.size());
      pack(*layout, other.data() + start, 1, again.data());
      ASSERT_EQ(again, want) << block << " " << stride;
      ASSERT_EQ(
          std::count(other.begin(), other.end(), 0),
          std::count(want.begin(), want.end(), 0) + static_cast<std::ptrdiff_t>(memory.size() - want.size()));
    }
  }
}

TEST(Cursor, absolute_addresses) {
  int a = 1, b = 2;
  double c = 3.5;
  const Vec at = {reinterpret_cast<std::int64_t>(&a), reinterpret_cast<std::int64_t>(&b),
                  reinterpret_cast<std::int64_t>(&c)};
  const Layout* items[] = {&basic_layout(Basic::c_int), &basic_layout(Basic::c_int),
                           &basic_layout(Basic::c_double)};
  LayoutRef layout;
  ASSERT_EQ(structure(Vec{1, 1, 1}, at, items, layout), Status::ok);
  unsigned char out[16];
  pack(*layout, nullptr, 1, out);
  int values[2];
  double real;
  std::memcpy(values, out, 8);
  std::memcpy(&real, out + 8, 8);
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[1], 2);
  EXPECT_EQ(real, 3.5);
}

TEST(Cursor, plain_bytes) {
  char text[] = "herald";
  Cursor cursor = Cursor::bytes(text, 6);
  EXPECT_TRUE(cursor.contiguous());
  cursor.skip(2);
  EXPECT_EQ(cursor.contiguous_at(), text + 2);
  char out[8] = {};
  EXPECT_EQ(cursor.pack(out, 100), 4u);
  EXPECT_STREQ(out, "rald");
  EXPECT_EQ(cursor.remaining(), 0u);
  cursor.skip(9);
  EXPECT_EQ(cursor.position(), 6u);
  cursor.seek(99);
  EXPECT_EQ(cursor.position(), 6u);
  type::Run run;
  EXPECT_EQ(cursor.next_runs({&run, 1}, 10), 0u);
  EXPECT_EQ(Cursor{}.total(), 0u);
}

TEST(Cursor, keeps_its_layout_alive) {
  int memory[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  LayoutRef layout;
  ASSERT_EQ(vector(4, 1, 2, basic_layout(Basic::c_int), layout), Status::ok);
  Cursor cursor{layout, memory, 1};
  layout = LayoutRef{};
  Cursor other = cursor;
  cursor = Cursor{};
  int out[4];
  ASSERT_EQ(other.pack(out, sizeof out), sizeof out);
  EXPECT_EQ(out[3], 6);
}

// Cursors of one layout are made and destroyed in several threads (MPI_THREAD_MULTIPLE), under the thread
// sanitizer too.
TEST(Cursor, threads_share_a_layout) {
  LayoutRef layout;
  ASSERT_EQ(vector(4, 1, 2, basic_layout(Basic::c_int), layout), Status::ok);
  const LayoutRef& shared = layout;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([mine = shared, t] {
      int memory[8], out[4];
      for (int i = 0; i < 8; ++i) memory[i] = t + i;
      for (int round = 0; round < 2000; ++round) {
        Cursor cursor{mine, memory, 1};
        Cursor other = cursor;
        other.pack(out, sizeof out);
        ASSERT_EQ(out[3], t + 6);
      }
    });
  }
  layout = LayoutRef{};
  for (auto& thread : threads) thread.join();
}

TEST(Cursor, copies_between_layouts) {
  std::vector<std::int32_t> from(300), to(300, -1);
  std::iota(from.begin(), from.end(), 0);
  LayoutRef odd, triple;
  ASSERT_EQ(vector(50, 1, 2, basic_layout(Basic::c_int), odd), Status::ok);
  ASSERT_EQ(vector(16, 3, 5, basic_layout(Basic::c_int), triple), Status::ok);
  Cursor source{odd, from.data(), 1}, target{triple, to.data(), 1};
  EXPECT_EQ(copy(source, target), 48u * 4);
  for (int i = 0; i < 48; ++i) EXPECT_EQ(to[static_cast<std::size_t>(i / 3 * 5 + i % 3)], 2 * i);
  EXPECT_EQ(to[3], -1);
  EXPECT_EQ(source.remaining(), 8u);
  EXPECT_EQ(target.remaining(), 0u);
}

}  // namespace
}  // namespace herald::type
