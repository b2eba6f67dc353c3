// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: the bytes of a lane's datagram change, so that two versions misread each other; a
// datagram whose parts do not fit its length is accepted; one to the group is accepted as unicast to a
// member.
#include "wire/lane.hpp"

#include <gtest/gtest.h>

#include <vector>

using namespace herald;
using namespace herald::wire;

namespace {

using Bytes = std::vector<unsigned char>;

constexpr Seal kSeal{{0x0706050403020100, 0x0f0e0d0c0b0a0908}, 0x01020304};
constexpr std::uint64_t kName = 0x1122334455667788;
constexpr std::uint32_t kMe = 9;

template <class T>
Bytes bytes_of(const T& part) {
  const auto* at = reinterpret_cast<const unsigned char*>(&part);
  return {at, at + sizeof part};
}

Bytes join(std::initializer_list<Bytes> parts) {
  Bytes out;
  for (const Bytes& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

Bytes make(DatagramKind kind, std::uint8_t flags, const Bytes& body, std::uint32_t to = kMe) {
  DatagramHead head;
  head.version = kDatagramVersion;
  head.kind = static_cast<std::uint8_t>(kind);
  head.flags = flags;
  head.epoch = static_cast<std::uint8_t>(kSeal.epoch);
  head.from = 7;
  head.seq = 0x0a0b0c0d;
  Bytes out = bytes_of(head);
  seal(kSeal, to, crc32c(std::as_bytes(std::span(body))), std::as_writable_bytes(std::span(out)));
  return join({out, body});
}

Opened open(const Bytes& bytes, DatagramView& view, std::uint32_t me = kMe) {
  return open_datagram(kSeal, me, std::as_bytes(std::span(bytes)), view);
}

Opened open(const Bytes& bytes, std::uint32_t me = kMe) {
  DatagramView view;
  return open(bytes, view, me);
}

// Without the tag: head and body as the document has them.
Bytes plain(const Bytes& datagram) {
  Bytes out = datagram;
  std::fill(out.begin() + 12, out.begin() + 20, 0);
  return out;
}

const Bytes kNameBytes{0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11};

Bytes head_bytes(unsigned char kind, unsigned char flags) {
  return {1, kind, flags, 4, 7, 0, 0, 0, 13, 12, 11, 10, 0, 0, 0, 0, 0, 0, 0, 0};
}

LanePart some_part() {
  LanePart part;
  part.name = kName;
  part.rtt_us = 0x0102;
  part.base_us = 0x0304;
  return part;
}

Bytes some_cast(std::uint8_t count) {
  AckRow row;
  row.next = 0x21222324;
  row.member = 0x3132;
  row.credit = 0x4142;
  return join({bytes_of(some_part()), {'a', 'b'}, bytes_of(row), bytes_of(row), {count}});
}

CastAck some_ack() {
  CastAck ack;
  ack.name = kName;
  ack.source = 0x01020304;
  ack.credit = 0x11121314;
  ack.holes = 0x2122232425262728;
  ack.newest = 0x31323334;
  ack.delay_us = 0x41424344;
  ack.all_next = 0x51525354;
  ack.all_credit = 0x61626364;
  return ack;
}

Bytes some_nak(std::size_t ranges) {
  CastNak nak;
  nak.name = kName;
  nak.source = 0x01020304;
  nak.end = 0x11121314;
  NakRange range;
  range.first = 0x2122;
  range.count = 0x0001;
  Bytes out = bytes_of(nak);
  for (std::size_t i = 0; i < ranges; ++i) out = join({out, bytes_of(range)});
  return out;
}

}  // namespace

TEST(LaneWire, a_cast_is_as_the_document_says) {
  const Bytes sent = make(DatagramKind::cast, kFlagRows | kFlagAskAck, some_cast(2));
  const Bytes row{0x24, 0x23, 0x22, 0x21, 0x32, 0x31, 0x42, 0x41};
  EXPECT_EQ(plain(sent), join({head_bytes(5, 40), kNameBytes, {2, 1, 4, 3}, {'a', 'b'}, row, row, {2}}));
  const Bytes tag{sent.begin() + 12, sent.begin() + 20};
  EXPECT_EQ(tag, (Bytes{0x84, 0x35, 0xe2, 0xbe, 0xd3, 0x08, 0x40, 0x81}));
  DatagramView view;
  ASSERT_EQ(open(sent, view), Opened::good);
  const CastView cast = view_cast(view.flags, view.body);
  EXPECT_EQ(cast.lane->name, kName);
  EXPECT_EQ(cast.packet.size(), 2u);
  EXPECT_EQ(std::to_integer<char>(cast.packet[1]), 'b');
  ASSERT_EQ(cast.rows.size(), 2u);
  EXPECT_EQ(cast.rows[1].next, 0x21222324u);
  EXPECT_EQ(cast.rows[1].credit, 0x4142u);
}

TEST(LaneWire, a_cast_without_rows_is_only_its_packet) {
  DatagramView view;
  ASSERT_EQ(open(make(DatagramKind::cast, 0, some_cast(2)), view), Opened::good);
  EXPECT_EQ(view_cast(view.flags, view.body).packet.size(), 2u + 2 * 8 + 1);
  EXPECT_TRUE(view_cast(view.flags, view.body).rows.empty());
}

TEST(LaneWire, acks_naks_and_probes_are_as_the_document_says) {
  EXPECT_EQ(plain(make(DatagramKind::cast_ack, kFlagMulticastSeen, bytes_of(some_ack()))),
            join({head_bytes(6, 64),
                  kNameBytes,
                  {4, 3, 2, 1},
                  {0x14, 0x13, 0x12, 0x11},
                  {0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21},
                  {0x34, 0x33, 0x32, 0x31},
                  {0x44, 0x43, 0x42, 0x41},
                  {0x54, 0x53, 0x52, 0x51},
                  {0x64, 0x63, 0x62, 0x61}}));
  EXPECT_EQ(plain(make(DatagramKind::cast_nak, 0, some_nak(1))),
            join({head_bytes(7, 0), kNameBytes, {4, 3, 2, 1}, {0x14, 0x13, 0x12, 0x11}, {0x22, 0x21, 1, 0}}));
  EXPECT_EQ(plain(make(DatagramKind::cast_ask, kFlagDirect, bytes_of(some_part()))),
            join({head_bytes(8, 16), kNameBytes, {2, 1, 4, 3}}));
}

TEST(LaneWire, contributions_and_results_are_as_the_document_says) {
  ContributionPart part;
  part.name = kName;
  part.behind = 5;
  const Bytes contribution = join({bytes_of(part), {'a', 'b'}});
  EXPECT_EQ(plain(make(DatagramKind::contribution, kFlagMulticastSeen | kFlagAskAck, contribution)),
            join({head_bytes(9, 72), kNameBytes, {5}, {'a', 'b'}}));
  EXPECT_EQ(plain(make(DatagramKind::contribution, kFlagNoContribution, bytes_of(part))),
            join({head_bytes(9, 16), kNameBytes, {5}}));
  ResultPart result;
  result.name = kName;
  result.lane_index = 0x0102;
  result.reserved = 0x0304;
  EXPECT_EQ(plain(make(DatagramKind::result, kFlagAskAck, join({bytes_of(result), {'c'}}))),
            join({head_bytes(10, 8), kNameBytes, {2, 1, 4, 3}, {'c'}}));
  EXPECT_EQ(plain(make(DatagramKind::contribution_ack, 2, bytes_of(some_part()))),
            join({head_bytes(11, 2), kNameBytes, {2, 1, 4, 3}}));
  EXPECT_EQ(open(make(DatagramKind::contribution, 0, contribution)), Opened::good);
  EXPECT_EQ(open(make(DatagramKind::contribution, 0, bytes_of(part))), Opened::good) << "a part of no bytes";
  EXPECT_EQ(open(make(DatagramKind::contribution, kFlagNoContribution, contribution)), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::contribution, kFlagIncomplete, contribution)), Opened::good);
  EXPECT_EQ(open(make(DatagramKind::contribution, kFlagClosed, contribution)), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::result, 0, bytes_of(result))), Opened::good);
  EXPECT_EQ(open(make(DatagramKind::result, kFlagIncomplete, bytes_of(result))), Opened::good);
  EXPECT_EQ(open(make(DatagramKind::result, kFlagMulticastSeen, bytes_of(result))), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::contribution_ack, 0, contribution)), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::contribution_ack, kFlagAskAck, bytes_of(some_part()))),
            Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::contribution, 0, Bytes(8))), Opened::malformed);
  for (const DatagramKind kind : {DatagramKind::result, DatagramKind::contribution_ack})
    EXPECT_EQ(open(make(kind, 0, Bytes(11))), Opened::malformed);
}

TEST(LaneWire, invalid_flags_and_lengths_are_malformed_despite_a_right_tag) {
  const Bytes part = bytes_of(some_part());
  EXPECT_EQ(open(make(DatagramKind::cast, 0, part)), Opened::malformed);  // no packet
  EXPECT_EQ(open(make(DatagramKind::cast, 0, Bytes(part.begin(), part.end() - 1))), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::cast, kFlagAck, some_cast(2))), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::cast, kFlagMulticastSeen, some_cast(2))), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::cast, kFlagRows, some_cast(0))), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::cast, kFlagRows, some_cast(1))), Opened::good);
  EXPECT_EQ(open(make(DatagramKind::cast, kFlagRows, some_cast(3))), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::cast, kFlagRows, some_cast(255))), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::cast_ask, kFlagAskAck, part)), Opened::good);
  EXPECT_EQ(open(make(DatagramKind::cast_ask, kFlagRows, part)), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::cast_ask, 0, join({part, {0}}))), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::cast_ack, kFlagNotOpen, bytes_of(some_ack()))), Opened::good);
  EXPECT_EQ(open(make(DatagramKind::cast_ack, kFlagAskAck, bytes_of(some_ack()))), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::cast_ack, 0, join({bytes_of(some_ack()), {0}}))), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::cast_nak, 0, some_nak(0))), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::cast_nak, 0, some_nak(kMaxNakRanges))), Opened::good);
  EXPECT_EQ(open(make(DatagramKind::cast_nak, 0, some_nak(kMaxNakRanges + 1))), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::cast_nak, 0, join({some_nak(1), {1, 2}}))), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::cast_nak, 0, join({some_nak(1), {1, 0, 0, 0}}))), Opened::malformed);
  for (const int kind : {12, 13})  // a compact datagram has another head
    EXPECT_EQ(open(make(static_cast<DatagramKind>(kind), 0, part)), Opened::malformed);
}

TEST(LaneWire, any_wrong_bit_or_length_is_detected) {
  for (const Bytes& good : {make(DatagramKind::cast, kFlagRows, some_cast(2)),
                            make(DatagramKind::cast_ack, kFlagMulticastSeen, bytes_of(some_ack())),
                            make(DatagramKind::cast_nak, 0, some_nak(3)),
                            make(DatagramKind::contribution, kFlagMulticastSeen, bytes_of(some_part())),
                            make(DatagramKind::result, 0, some_cast(2)),
                            make(DatagramKind::contribution_ack, 0, bytes_of(some_part())),
                            make(DatagramKind::cast_ask, 0, bytes_of(some_part()))}) {
    ASSERT_EQ(open(good), Opened::good);
    for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
      Bytes bad = good;
      bad[bit / 8] ^= static_cast<unsigned char>(1 << (bit % 8));
      EXPECT_NE(open(bad), Opened::good) << "bit " << bit;
    }
    for (std::size_t n = 0; n < good.size(); ++n)
      EXPECT_NE(open(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n))), Opened::good) << n;
  }
}

TEST(LaneWire, datagrams_to_the_group_are_not_accepted_as_unicast) {
  const Bytes to_group = make(DatagramKind::cast, 0, some_cast(1), group_seal(kName));
  EXPECT_EQ(open(to_group, group_seal(kName)), Opened::good);
  EXPECT_EQ(open(to_group), Opened::bad_tag);
  EXPECT_EQ(open(make(DatagramKind::cast, 0, some_cast(1)), group_seal(kName)), Opened::bad_tag);
}
