// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: the bytes of a compact contribution change, so that two versions misread each other; a
// contribution to another lane, fused exchange or root is accepted; a wrong bit is not detected.
#include "wire/compact.hpp"

#include <gtest/gtest.h>

#include <vector>

using namespace herald;
using namespace herald::wire;

namespace {

using Bytes = std::vector<unsigned char>;

constexpr Seal kSeal{{0x0706050403020100, 0x0f0e0d0c0b0a0908}, 0x01020304};
constexpr std::uint64_t kName = 0x1122334455667788;
constexpr std::uint32_t kMe = 9, kNumber = 0x0a0b0c0d;

Bytes make(std::uint8_t flags, const Bytes& part, std::uint64_t number = kNumber) {
  Bytes out(sizeof(CompactHead));
  out.insert(out.end(), part.begin(), part.end());
  write_compact(kSeal, kMe, kName, {flags, 0x1234, 7, number}, std::as_writable_bytes(std::span(out)));
  return out;
}

Opened open(const Bytes& bytes, DatagramView& view, std::uint64_t about = kNumber) {
  return open_compact(kSeal, kMe, kName, about, std::as_bytes(std::span(bytes)), view);
}

TEST(CompactWire, has_sixteen_bytes_before_the_contribution) {
  Bytes good = make(kFlagMulticastSeen, {'a', 'b'});
  DatagramView view;
  ASSERT_EQ(open(good, view), Opened::good);
  EXPECT_EQ(view.kind, DatagramKind::compact_contribution);
  EXPECT_EQ(view.flags, kFlagMulticastSeen);
  EXPECT_EQ(view.from, 7u);
  EXPECT_EQ(view.seq, kNumber);
  EXPECT_TRUE(view.ack.empty());
  ASSERT_EQ(view.body.size(), 2u);
  EXPECT_EQ(lane_index(std::as_bytes(std::span(good))), 0x1234u);
  EXPECT_EQ(lane_index(std::as_bytes(std::span(good)).first(15)), 0u);
  std::fill(good.begin() + 8, good.begin() + 16, 0);
  EXPECT_EQ(good, (Bytes{1, 12, 64, 4, 0x34, 0x12, 7, 13, 0, 0, 0, 0, 0, 0, 0, 0, 'a', 'b'}));
}

TEST(CompactWire, the_tag_covers_lane_root_and_full_number) {
  const Bytes good = make(0, {'a'});
  const auto bytes = std::as_bytes(std::span(good));
  DatagramView view;
  EXPECT_EQ(open_compact(kSeal, kMe, kName + 1, kNumber, bytes, view), Opened::bad_tag);
  EXPECT_EQ(open_compact(kSeal, kMe + 1, kName, kNumber, bytes, view), Opened::bad_tag);
  EXPECT_EQ(open_compact({kSeal.key, kSeal.epoch + 1}, kMe, kName, kNumber, bytes, view),
            Opened::stale_epoch);
  EXPECT_EQ(open_compact({kSeal.key, kSeal.epoch + 256}, kMe, kName, kNumber, bytes, view), Opened::bad_tag);
  EXPECT_EQ(open(good, view, kNumber + 128), Opened::good);
  EXPECT_EQ(open(good, view, kNumber - 127), Opened::good);
  EXPECT_EQ(open(good, view, kNumber + 129), Opened::bad_tag);
  EXPECT_EQ(open(good, view, kNumber - 128), Opened::bad_tag);
}

TEST(CompactWire, numbers_wrap_around) {
  DatagramView view;
  constexpr std::uint64_t kAbout = std::uint64_t{3} << 32;
  for (const std::int64_t off : {0, 1, 127, -1, -127}) {
    const std::uint64_t number = kAbout + static_cast<std::uint64_t>(off);
    const Bytes bytes = make(0, {}, number);
    ASSERT_EQ(open(bytes, view, kAbout), Opened::good) << off;
    EXPECT_EQ(view.seq, static_cast<std::uint32_t>(number));
    EXPECT_TRUE(view.body.empty());
    EXPECT_EQ(open(bytes, view, kAbout - (std::uint64_t{1} << 32)), Opened::bad_tag);
  }
}

TEST(CompactWire, any_wrong_bit_length_or_flag_is_detected) {
  const Bytes good = make(kFlagMulticastSeen, {'a', 'b'});
  DatagramView view;
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    Bytes bad = good;
    bad[bit / 8] ^= static_cast<unsigned char>(1 << (bit % 8));
    EXPECT_NE(open(bad, view), Opened::good) << "bit " << bit;
  }
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_EQ(open(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)), view),
              size < sizeof(CompactHead) ? Opened::malformed : Opened::bad_tag);
  for (const std::uint8_t flag : {kFlagAck, kFlagAskAck, kFlagNoContribution, kFlagClosed})
    EXPECT_EQ(open(make(flag, {}), view), Opened::malformed);
}

}  // namespace
