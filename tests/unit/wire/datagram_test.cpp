// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: the bytes of a datagram change with compiler, build type or an edit, so that two
// versions misread each other; a datagram that is damaged, truncated, forged, for another process or of
// another epoch of the job is accepted.
#include "wire/datagram.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/prng.hpp"

using namespace herald;
using namespace herald::wire;

namespace {

using Bytes = std::vector<unsigned char>;

constexpr Seal kSeal{{0x0706050403020100, 0x0f0e0d0c0b0a0908}, 0x01020304};
constexpr std::uint32_t kMe = 9;

AckPart some_ack() {
  AckPart ack;
  ack.next = 0x11121314;
  ack.credit = 0x21222324;
  ack.holes = 0x3132333435363738;
  ack.newest = 0x41424344;
  ack.delay_us = 0x51525354;
  return ack;
}

AckPart some_short_ack() {
  AckPart ack;
  ack.next = 0x00000001;
  ack.credit = 0x00001235;
  ack.holes = 0;
  ack.newest = 0x00000000;
  ack.delay_us = 0x5354;
  return ack;
}

Bytes make(DatagramKind kind, std::uint8_t flags, std::uint32_t seq, const Bytes& body,
           const Seal& with = kSeal, std::uint32_t to = kMe) {
  DatagramHead head;
  head.version = kDatagramVersion;
  head.kind = static_cast<std::uint8_t>(kind);
  head.flags = flags;
  head.epoch = static_cast<std::uint8_t>(with.epoch);
  head.from = 7;
  head.seq = seq;
  head.tag = 0xdeadbeef;  // earlier content does not matter
  Bytes out(head_bytes(flags));
  std::memcpy(out.data(), &head, sizeof head);
  if ((flags & kFlagAck) != 0) {
    const AckBytes ack = write_ack((flags & kFlagShort) != 0 ? some_short_ack() : some_ack());
    EXPECT_EQ(ack.flags, flags & (kFlagAck | kFlagShort));
    EXPECT_EQ(ack.size, out.size() - sizeof head);
    std::memcpy(out.data() + sizeof head, ack.room.data(), ack.size);
  }
  seal(with, to, crc32c(std::as_bytes(std::span(body))), std::as_writable_bytes(std::span(out)));
  out.insert(out.end(), body.begin(), body.end());
  return out;
}

Opened open(const Bytes& bytes, DatagramView& view, const Seal& with = kSeal, std::uint32_t me = kMe) {
  return open_datagram(with, me, std::as_bytes(std::span(bytes)), view);
}

Opened open(const Bytes& bytes) {
  DatagramView view;
  return open(bytes, view);
}

const Bytes kAckBytes{0x14, 0x13, 0x12, 0x11, 0x24, 0x23, 0x22, 0x21, 0x38, 0x37, 0x36, 0x35,
                      0x34, 0x33, 0x32, 0x31, 0x44, 0x43, 0x42, 0x41, 0x54, 0x53, 0x52, 0x51};

Bytes join(const Bytes& a, const Bytes& b, const Bytes& c = {}) {
  Bytes out = a;
  out.insert(out.end(), b.begin(), b.end());
  out.insert(out.end(), c.begin(), c.end());
  return out;
}

}  // namespace

// What could go wrong: a recorded datagram is accepted when its 32-bit numbers come again.
TEST(Datagram, upper_halves_of_numbers_are_under_the_tag) {
  for (const std::uint8_t flags : {std::uint8_t{0}, kFlagAck, std::uint8_t(kFlagAck | kFlagShort)}) {
    Bytes bytes = make(DatagramKind::data, flags, 9, {});
    const auto at = std::as_bytes(std::span(bytes));
    DatagramView view;
    EXPECT_EQ(open_datagram(kSeal, kMe, at, view, {1, 0}), Opened::bad_tag);
    EXPECT_EQ(open_datagram(kSeal, kMe, at, view, {0, 1}), flags == 0 ? Opened::good : Opened::bad_tag);
    seal(kSeal, kMe, 0, std::as_writable_bytes(std::span(bytes)), {3, 5});
    EXPECT_EQ(open_datagram(kSeal, kMe, at, view, {3, 5}), Opened::good);
    EXPECT_EQ(open_datagram(kSeal, kMe, at, view, {5, 3}), Opened::bad_tag);
    EXPECT_EQ(open(bytes), Opened::bad_tag);
  }
}

TEST(Datagram, data_with_an_ack_is_as_the_document_says) {
  const Bytes golden = join({1,    1,    kFlagAck | kFlagBacklog,
                             0x04,  // version, data, flags, epoch
                             7,    0,    0,
                             0,  // from
                             0x0d, 0x0c, 0x0b,
                             0x0a,  // seq
                             0x08, 0x0d, 0x2d,
                             0xb6, 0xe0, 0x6b,
                             0xeb, 0x81},  // tag
                            kAckBytes, {'a', 'b', 'c'});
  EXPECT_EQ(make(DatagramKind::data, kFlagAck | kFlagBacklog, 0x0a0b0c0d, {'a', 'b', 'c'}), golden);
  DatagramView view;
  ASSERT_EQ(open(golden, view), Opened::good);
  EXPECT_EQ(view.kind, DatagramKind::data);
  EXPECT_EQ(view.flags, kFlagAck | kFlagBacklog);
  EXPECT_EQ(view.from, 7u);
  EXPECT_EQ(view.seq, 0x0a0b0c0du);
  ASSERT_EQ(view.ack.size(), sizeof(AckPart));
  const AckPart ack = read_ack(view.ack);
  EXPECT_EQ(ack.next, 0x11121314u);
  EXPECT_EQ(ack.credit, 0x21222324u);
  EXPECT_EQ(ack.holes, 0x3132333435363738u);
  EXPECT_EQ(ack.newest, 0x41424344u);
  EXPECT_EQ(ack.delay_us, 0x51525354u);
  EXPECT_EQ(view.body.size(), 3u);
  EXPECT_EQ(std::to_integer<char>(view.body[0]), 'a');
}

TEST(Datagram, a_short_ack_is_as_the_document_says) {
  const Bytes ack{1, 0, 0, 0, 0x34, 0x12, 0x54, 0x53};  // next, credit after it, delay
  Bytes made = make(DatagramKind::data, kFlagAck | kFlagShort, 0x0a0b0c0d, {'a'});
  DatagramView view;
  ASSERT_EQ(open(made, view), Opened::good);
  ASSERT_EQ(view.body.size(), 1u);
  const AckPart read = read_ack(view.ack);
  EXPECT_EQ(std::memcmp(&read, std::vector{some_short_ack()}.data(), sizeof read), 0);
  std::fill(made.begin() + 12, made.begin() + 20, 0);
  EXPECT_EQ(made,
            join({1, 1, 17, 4, 7, 0, 0, 0, 0x0d, 0x0c, 0x0b, 0x0a, 0, 0, 0, 0, 0, 0, 0, 0}, ack, {'a'}));
}

// The reader gets every field as written; the short form is used only where it has them all.
TEST(Datagram, an_ack_is_read_as_it_was_written) {
  Prng chance(3);
  int shorter = 0;
  for (int i = 0; i < 20000; ++i) {
    AckPart ack = some_short_ack();
    ack.next = static_cast<std::uint32_t>(chance.next());
    ack.newest = ack.next - (chance.below(4) == 0 ? chance.below(3) : 1);
    ack.credit = ack.next +
                 (chance.below(4) == 0 ? static_cast<std::uint32_t>(chance.next()) >> chance.below(32)
                                       : chance.below(1000)) -
                 (chance.below(8) == 0);
    if (chance.below(4) == 0) ack.holes = chance.next() >> chance.below(64);
    ack.delay_us = static_cast<std::uint32_t>(chance.next()) >> chance.below(32);
    const AckBytes bytes = write_ack(ack);
    const AckPart read = read_ack(bytes.bytes());
    ASSERT_EQ(std::memcmp(&read, &ack, sizeof ack), 0) << i;
    const bool small = ack.holes == 0 && ack.newest + 1 == ack.next && ack.credit - ack.next <= 0xffff &&
                       ack.delay_us <= 0xffff;
    ASSERT_EQ(bytes.size, small ? 8 : 24) << i;
    ASSERT_EQ(bytes.flags, small ? kFlagAck | kFlagShort : kFlagAck) << i;
    shorter += small;
  }
  EXPECT_GT(shorter, 3000);
  EXPECT_LT(shorter, 17000);
}

TEST(Datagram, records_acks_and_probes_are_as_the_document_says) {
  const Bytes row{1, 0, 'x', 2, 0, 'y', 'z'};
  const Bytes records = join(
      {1, 1, kFlagRecords, 4, 7, 0, 0, 0, 13, 12, 11, 10, 0x00, 0x5b, 0xa5, 0x4b, 0xf4, 0x63, 0x5a, 0xd5},
      row);
  EXPECT_EQ(make(DatagramKind::data, kFlagRecords, 0x0a0b0c0d, row), records);
  EXPECT_EQ(open(records), Opened::good);

  const Bytes ack = join(
      {1,    2,   kFlagAck | kFlagAskAck, 4, 7, 0, 0, 0, 13, 12, 11, 10, 0x5b, 0xf8, 0x2c, 0xea, 0x77, 0x45,
       0xc7, 0x2c},
      kAckBytes);
  EXPECT_EQ(make(DatagramKind::ack, kFlagAck | kFlagAskAck, 0x0a0b0c0d, {}), ack);
  EXPECT_EQ(open(ack), Opened::good);

  const Bytes body{3, 0, 0, 0, 4, 3, 2, 1};
  const Bytes probe =
      join({1, 3, 0, 4, 7, 0, 0, 0, 0, 0, 0, 0, 0x4b, 0x39, 0xf6, 0x42, 0xfe, 0x39, 0xec, 0x52}, body);
  EXPECT_EQ(make(DatagramKind::probe, 0, 0, body), probe);
  DatagramView view;
  EXPECT_EQ(open(probe, view), Opened::good);
  EXPECT_TRUE(view.ack.empty());
}

TEST(Datagram, the_tag_is_the_hash_of_what_the_document_lists) {
  for (const int each : {0, int{kFlagAck}, kFlagAck | kFlagShort}) {
    const auto flags = static_cast<std::uint8_t>(each);
    const Bytes body(100, 'b');
    const Bytes sent = make(DatagramKind::data, flags, 5, body);
    const std::size_t head_bytes = sent.size() - body.size();
    Bytes under_tag(sent.begin(), sent.begin() + static_cast<std::ptrdiff_t>(head_bytes));
    std::fill(under_tag.begin() + 12, under_tag.begin() + 20, 0);
    const std::uint32_t unsent[] = {kMe, kSeal.epoch, crc32c(std::as_bytes(std::span(body)))};
    under_tag.resize(head_bytes + sizeof unsent);
    std::memcpy(under_tag.data() + head_bytes, unsent, sizeof unsent);
    std::uint64_t tag;
    std::memcpy(&tag, sent.data() + 12, sizeof tag);
    EXPECT_EQ(tag, siphash24(kSeal.key, std::as_bytes(std::span(under_tag))));
  }
}

TEST(Datagram, any_wrong_bit_is_detected) {
  for (const Bytes& good :
       {make(DatagramKind::data, 0, 1, Bytes(33, 'd')),
        make(DatagramKind::data, kFlagAck | kFlagRecords, 1, {2, 0, 'x', 'y'}),
        make(DatagramKind::data, kFlagAck | kFlagShort, 1, Bytes(20, 's')),
        make(DatagramKind::ack, kFlagAck | kFlagShort, 1, {}), make(DatagramKind::ack, kFlagAck, 1, {}),
        make(DatagramKind::ack, 0, 1, {}), make(DatagramKind::probe_reply, 0, 0, Bytes(8, 'p'))}) {
    ASSERT_EQ(open(good), Opened::good);
    for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
      Bytes bad = good;
      bad[bit / 8] ^= static_cast<unsigned char>(1 << (bit % 8));
      EXPECT_NE(open(bad), Opened::good) << "bit " << bit;
    }
  }
}

// What could go wrong: the cipher around a datagram is paid for, and the checksum too; or one end omits it
// alone.
TEST(Datagram, inside_an_envelope_the_body_has_no_checksum_and_the_head_has_its_tag) {
  Seal inside = kSeal;
  inside.enveloped = true;
  Bytes bytes = make(DatagramKind::data, 0, 1, Bytes(33, 'd'));
  DatagramView view;
  EXPECT_EQ(open(bytes, view, inside), Opened::bad_tag);
  EXPECT_EQ(inside.body_crc(std::as_bytes(std::span(bytes)), 7), 7u);
  seal(inside, kMe, 0, std::as_writable_bytes(std::span(bytes)).first(sizeof(DatagramHead)));
  ASSERT_EQ(open(bytes, view, inside), Opened::good);
  EXPECT_EQ(open(bytes), Opened::bad_tag);
  bytes.back() ^= 1;
  EXPECT_EQ(open(bytes, view, inside), Opened::good);
  bytes[8] ^= 1;
  EXPECT_EQ(open(bytes, view, inside), Opened::bad_tag);
}

TEST(Datagram, a_truncated_or_longer_datagram_is_refused) {
  for (const Bytes& good :
       {make(DatagramKind::data, kFlagAck, 1, Bytes(9, 'd')), make(DatagramKind::ack, kFlagAck, 1, {}),
        make(DatagramKind::ack, kFlagAck | kFlagShort, 1, {}),
        make(DatagramKind::probe, 0, 0, Bytes(8, 'p'))}) {
    for (std::size_t n = 0; n < good.size(); ++n)
      EXPECT_NE(open(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n))), Opened::good) << n;
    EXPECT_NE(open(join(good, {0})), Opened::good);
  }
}

TEST(Datagram, datagrams_for_other_receivers_are_refused_with_the_reason) {
  const Bytes good = make(DatagramKind::data, 0, 1, {'a'});
  DatagramView view;
  EXPECT_EQ(open(good, view, kSeal, kMe + 1), Opened::bad_tag);
  EXPECT_EQ(open(good, view, {{kSeal.key[0] ^ 1, kSeal.key[1]}, kSeal.epoch}), Opened::bad_tag);
  EXPECT_EQ(open(good, view, {{kSeal.key[0], kSeal.key[1] ^ 1}, kSeal.epoch}), Opened::bad_tag);
  EXPECT_EQ(open(good, view, {kSeal.key, kSeal.epoch + 1}), Opened::stale_epoch);
  // The lowest byte is the same 256 epochs later; the tag differs.
  EXPECT_EQ(open(good, view, {kSeal.key, kSeal.epoch + 256}), Opened::bad_tag);
  EXPECT_EQ(view.body.data(), nullptr);  // untouched
}

TEST(Datagram, invalid_constants_lengths_and_rows_are_malformed_despite_a_right_tag) {
  const Bytes eight(8, 'p');
  EXPECT_EQ(open(make(static_cast<DatagramKind>(0), 0, 0, {})), Opened::malformed);
  EXPECT_EQ(open(make(static_cast<DatagramKind>(5), 0, 0, {})), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::ack, 16, 0, {})), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::ack, 128, 0, {})), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::data, kFlagShort, 0, {'a'})), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::probe, kFlagAck | kFlagShort, 0, eight)), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::ack, kFlagRecords, 0, {})), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::ack, 0, 0, {'a'})), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::probe, kFlagBacklog, 0, eight)), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::probe, 0, 0, {'a'})), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::probe_reply, 0, 0, Bytes(9, 'p'))), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::data, kFlagRecords, 0, {1})), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::data, kFlagRecords, 0, {1, 0})), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::data, kFlagRecords, 0, {0, 0, 2, 0, 'x'})), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::data, kFlagRecords, 0, {0, 0, 1, 0, 'x'})), Opened::good);
  // Parts: total, offset, bytes.
  EXPECT_EQ(open(make(DatagramKind::fragment, 0, 1, {66, 0, 64, 0, 'x', 'y'})), Opened::good);
  EXPECT_EQ(open(make(DatagramKind::fragment, 0, 1, {66, 0, 64, 0})), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::fragment, 0, 1, {66, 0, 63, 0, 'x', 'y'})), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::fragment, 0, 1, {65, 0, 64, 0, 'x', 'y'})), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::fragment, kFlagAck, 1, {66, 0, 64, 0, 'x', 'y'})), Opened::malformed);
  EXPECT_EQ(open(make(DatagramKind::probe, 0, 0, Bytes(1000, 'p'))), Opened::good);
  Bytes version = make(DatagramKind::ack, 0, 0, {});
  version[0] = 2;
  EXPECT_EQ(open(version), Opened::malformed);
}

TEST(Datagram, random_bytes_are_never_accepted) {
  Prng chance(1);
  int reached_the_tag = 0;
  for (int i = 0; i < 100000; ++i) {
    Bytes bytes(chance.below(64));
    for (auto& byte : bytes) byte = static_cast<unsigned char>(chance.next());
    if (bytes.size() > 3 && i % 2 == 0) {
      bytes[0] = kDatagramVersion;
      bytes[1] = static_cast<unsigned char>(1 + chance.below(4));
      bytes[2] = static_cast<unsigned char>(chance.below(32));
      bytes[3] = 4;
    }
    const Opened opened = open(bytes);
    EXPECT_NE(opened, Opened::good);
    reached_the_tag += opened == Opened::bad_tag;
  }
  EXPECT_GT(reached_the_tag, 0);
}
