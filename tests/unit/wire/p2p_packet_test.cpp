// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: the bytes of a packet change with compiler, build type or an edit, so that two
// versions misread each other; a packet that is too short, too long or unknown is accepted.
#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <vector>

#include "base/prng.hpp"
#include "wire/p2p_packet.hpp"

using namespace herald;
using namespace herald::wire;

namespace {

using Bytes = std::vector<unsigned char>;

template <class Packet>
Bytes bytes_of(const Packet& packet) {
  Bytes out(sizeof packet);
  std::memcpy(out.data(), &packet, sizeof packet);
  return out;
}

bool accepts(const Bytes& bytes, P2pKind expected) {
  P2pKind kind{};
  return decode(std::as_bytes(std::span(bytes)), kind) && kind == expected;
}

Bytes golden_eager() {
  return {4,    1,    1,    0,                             // version, eager, synchronous
          0x04, 0x03, 0x02, 0x01,                          // seq
          0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,  // context
          0xff, 0xff, 0xff, 0xff,                          // source -1
          0x2a, 0,    0,    0,                             // tag 42
          0x01, 0,    0,    0,    0x01, 0,    0,    0,     // 4 GiB + 1
          0x44, 0x33, 0x22, 0x11,                          // send id
          0x03, 0,    0,    0,                             // pushed
          'a',  'b',  'c'};
}

}  // namespace

TEST(P2pPacket, an_eager_packet_is_as_the_document_says) {
  EagerPacket packet;
  packet.prefix = p2p_prefix(P2pKind::eager, kFlagSynchronous);
  packet.seq = 0x01020304;
  packet.context = 0x1112131415161718;
  packet.source = -1;
  packet.tag = 42;
  packet.message_bytes = (std::uint64_t{1} << 32) + 1;
  packet.send_id = 0x11223344;
  packet.push_bytes = 3;
  Bytes bytes = bytes_of(packet);
  for (char c : {'a', 'b', 'c'}) bytes.push_back(static_cast<unsigned char>(c));
  EXPECT_EQ(bytes, golden_eager());
  EXPECT_TRUE(accepts(bytes, P2pKind::eager));
}

TEST(P2pPacket, a_compact_header_is_as_the_document_says) {
  const CompactPacket packet{kP2pVersion, static_cast<std::uint8_t>(P2pKind::eager_compact), -2};
  const Bytes golden{4, 2, 0xfe, 0xff, 0xff, 0xff};  // version, eager_compact, tag -2
  EXPECT_EQ(bytes_of(packet), golden);
  EXPECT_TRUE(accepts(golden, P2pKind::eager_compact)) << "an empty message";
  Bytes longer = golden;
  longer.push_back('a');
  EXPECT_TRUE(accepts(longer, P2pKind::eager_compact));
  EXPECT_FALSE(accepts(Bytes(golden.begin(), golden.end() - 1), P2pKind::eager_compact));
}

TEST(P2pPacket, pull_is_as_the_document_says) {
  PullPacket packet;
  packet.prefix = p2p_prefix(P2pKind::pull);
  packet.send_id = 1;
  packet.seq = 2;
  packet.receive_id = 3;
  packet.offset = 4;
  packet.bytes = std::uint64_t{5} << 32;
  const Bytes golden{4, 3, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0,
                     4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0};
  EXPECT_EQ(bytes_of(packet), golden);
  EXPECT_TRUE(accepts(golden, P2pKind::pull));
}

TEST(P2pPacket, data_is_as_the_document_says) {
  DataPacket packet;
  packet.prefix = p2p_prefix(P2pKind::data);
  packet.id = 7;
  packet.offset = 0x0102030405060708;
  Bytes bytes = bytes_of(packet);
  bytes.push_back(0xee);
  const Bytes golden{4, 4, 0, 0, 7, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1, 0xee};
  EXPECT_EQ(bytes, golden);
  EXPECT_TRUE(accepts(golden, P2pKind::data));
}

TEST(P2pPacket, short_kinds_are_as_the_document_says) {
  const AckPacket ack{p2p_prefix(P2pKind::ack), 1, 2};
  const Bytes golden_ack{4, 5, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0};
  EXPECT_EQ(bytes_of(ack), golden_ack);
  EXPECT_TRUE(accepts(golden_ack, P2pKind::ack));

  const GoodbyePacket goodbye{p2p_prefix(P2pKind::goodbye)};
  const Bytes golden_goodbye{4, 6, 0, 0};
  EXPECT_EQ(bytes_of(goodbye), golden_goodbye);
  EXPECT_TRUE(accepts(golden_goodbye, P2pKind::goodbye));

  const AllowancePacket allowance{p2p_prefix(P2pKind::allowance), 0x01020304};
  const Bytes golden_allowance{4, 7, 0, 0, 4, 3, 2, 1};
  EXPECT_EQ(bytes_of(allowance), golden_allowance);
  EXPECT_TRUE(accepts(golden_allowance, P2pKind::allowance));

  const SplitCopyDonePacket done{p2p_prefix(P2pKind::split_copy_done), 9};
  const Bytes golden_done{4, 9, 0, 0, 9, 0, 0, 0};
  EXPECT_EQ(bytes_of(done), golden_done);
  EXPECT_TRUE(accepts(golden_done, P2pKind::split_copy_done));
}

TEST(P2pPacket, a_service_call_is_as_the_document_says) {
  const ServicePacket packet{p2p_prefix(P2pKind::service), 3, 2, 0, 0};
  const Bytes golden{4,   11, 0, 0,              // version, service
                     3,   0,  2, 0,              // which, bytes of its header
                     0,   0,  0, 0,              // tag of a bulk payload
                     0,   0,  0, 0, 0, 0, 0, 0,  // bytes of it
                     'h', 'i'};
  Bytes bytes = bytes_of(packet);
  bytes.insert(bytes.end(), {'h', 'i'});
  EXPECT_EQ(bytes, golden);
  EXPECT_TRUE(accepts(golden, P2pKind::service));
  Bytes with_payload = golden;
  with_payload.push_back('p');
  EXPECT_TRUE(accepts(with_payload, P2pKind::service));
  for (std::size_t size = 0; size < golden.size(); ++size)
    EXPECT_FALSE(
        accepts(Bytes(golden.begin(), golden.begin() + static_cast<std::ptrdiff_t>(size)), P2pKind::service))
        << size;
  // Unknown flags, headers that are too long, a bulk payload without its flag or with no bytes.
  for (auto [at, value] :
       {std::pair<std::size_t, unsigned char>{2, 2}, {3, 1}, {6, 65}, {7, 1}, {8, 1}, {12, 1}, {2, 1}}) {
    Bytes bad = with_payload;
    bad[at] = value;
    bad.resize(bad.size() + (at == 6 ? 80 : 0));
    EXPECT_FALSE(accepts(bad, P2pKind::service)) << at << " " << int(value);
  }
  const ServicePacket bulk{p2p_prefix(P2pKind::service, kFlagBulk), 16, 0, 7, 0x0102};
  const Bytes golden_bulk{4, 11, 1, 0, 16, 0, 0, 0, 7, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(bytes_of(bulk), golden_bulk);
  EXPECT_TRUE(accepts(golden_bulk, P2pKind::service));
  Bytes with_more = golden_bulk;
  with_more.push_back(0);
  EXPECT_FALSE(accepts(with_more, P2pKind::service)) << "its payload does not follow";
  const Bytes negative = bytes_of(ServicePacket{p2p_prefix(P2pKind::service, kFlagBulk), 16, 0, -1, 5});
  EXPECT_FALSE(accepts(negative, P2pKind::service)) << "a tag that is a wildcard";
}

TEST(P2pPacket, headers_of_services_are_as_the_document_says) {
  const Bytes cancel{1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(bytes_of(CancelHeader{1, 2, 3}), cancel);
  const Bytes reply{1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0};
  EXPECT_EQ(bytes_of(CancelReplyHeader{1, 2, 1}), reply);
  const Bytes notice{2, 0, 0, 0, 2, 1, 0, 0, 30, 0, 0, 0};
  EXPECT_EQ(bytes_of(NoticeHeader{kNoticeLoses, 0x0102, 30}), notice);
  const Bytes invite{1, 0, 0, 0, 7, 0, 0, 0x80};  // lane 1 of rank 7
  EXPECT_EQ(bytes_of(LaneInviteHeader{0x8000000700000001u}), invite);
}

TEST(P2pPacket, a_bundle_is_as_the_document_says) {
  const Bytes golden{4, 10, 0, 0,                               // version, bundle
                     1, 0,  0, 0, 5, 0, 4, 1, 2, 0, 'a',        // for rank 1
                     2, 0,  0, 0, 6, 0, 4, 4, 3, 0, 'b', 'c'};  // for rank 2
  EXPECT_TRUE(accepts(golden, P2pKind::bundle));
  const auto part = [&](std::uint32_t member) { return part_for(member, std::as_bytes(std::span(golden))); };
  EXPECT_EQ(part(1).size(), 5u);
  EXPECT_EQ(part(2).size(), 6u);
  EXPECT_EQ(part(2).back(), std::byte{'c'});
  EXPECT_TRUE(part(3).empty());
  for (std::size_t size = 0; size < golden.size(); ++size)
    EXPECT_EQ(
        accepts(Bytes(golden.begin(), golden.begin() + static_cast<std::ptrdiff_t>(size)), P2pKind::bundle),
        size == 15)
        << size;
}

TEST(P2pPacket, a_direct_message_and_its_split_copy_are_as_the_document_says) {
  EagerPacket push;
  push.prefix = p2p_prefix(P2pKind::eager, kFlagInPlace);
  push.seq = 0;
  push.context = 0;
  push.source = 0;
  push.tag = 0;
  push.message_bytes = 5;
  push.send_id = 1;
  push.push_bytes = 0;
  const RunPart run{0x0102030405060708, 5};
  Bytes bytes = bytes_of(push);
  const Bytes one = bytes_of(run);
  const Bytes golden_run{8, 7, 6, 5, 4, 3, 2, 1, 5, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(one, golden_run);
  EXPECT_FALSE(accepts(bytes, P2pKind::eager)) << "no run";
  for (std::size_t n = 1; n <= kMaxRuns; ++n) {
    bytes.insert(bytes.end(), one.begin(), one.end());
    EXPECT_TRUE(accepts(bytes, P2pKind::eager)) << n;
  }
  Bytes cut(bytes.begin(), bytes.end() - 1);
  EXPECT_FALSE(accepts(cut, P2pKind::eager)) << "half a run";
  bytes.insert(bytes.end(), one.begin(), one.end());
  EXPECT_FALSE(accepts(bytes, P2pKind::eager)) << "too many";

  const SplitCopyPacket split{p2p_prefix(P2pKind::split_copy), 1, 2, 3, 4, 0x0102030405060708};
  const Bytes golden_split{4, 8, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0,
                           4, 0, 0, 0, 0, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1};
  EXPECT_EQ(bytes_of(split), golden_split);
  EXPECT_TRUE(accepts(golden_split, P2pKind::split_copy));
}

TEST(P2pPacket, wrong_lengths_versions_kinds_and_flags_are_refused) {
  const Bytes good = golden_eager();
  P2pKind kind{};
  for (std::size_t n = 0; n < sizeof(EagerPacket); ++n) {
    const Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n));
    EXPECT_FALSE(decode(std::as_bytes(std::span(cut)), kind)) << n;
  }
  Bytes longer = good;
  longer.push_back(0);
  EXPECT_FALSE(accepts(longer, P2pKind::eager));
  for (auto [at, value] : {std::pair<std::size_t, unsigned char>{0, 1},
                           {0, 3},
                           {1, 0},
                           {1, 12},
                           {1, 255},
                           {2, 16},
                           {3, 1},
                           {36, 2}}) {
    Bytes bad = good;
    bad[at] = value;
    EXPECT_FALSE(decode(std::as_bytes(std::span(bad)), kind)) << at << " " << int(value);
  }
}

TEST(P2pPacket, random_bytes_never_pass_with_a_length_that_does_not_fit) {
  Prng chance(1);
  int passed = 0;
  for (int i = 0; i < 200000; ++i) {
    Bytes bytes(chance.below(64));
    for (auto& byte : bytes)
      byte = static_cast<unsigned char>(chance.below(4) == 0 ? chance.next() : chance.below(8));
    P2pKind kind{};
    const auto view = std::as_bytes(std::span(bytes));
    if (!decode(view, kind)) continue;
    ++passed;
    if (kind == P2pKind::eager) {
      EXPECT_LE(bytes.size(), sizeof(EagerPacket) + as<EagerPacket>(view).push_bytes);
    }
    if (kind == P2pKind::data) {
      EXPECT_GT(bytes.size(), sizeof(DataPacket));
    }
    if (kind == P2pKind::ack) {
      EXPECT_EQ(bytes.size(), sizeof(AckPacket));
    }
  }
  EXPECT_GT(passed, 0);
}
