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

Bytes golden_push() {
  return {3,    1,    1,    0,                             // version, push, synchronous
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

TEST(P2pPacket, push_is_as_the_document_says) {
  PushPacket packet;
  packet.prefix = p2p_prefix(P2pKind::push, kFlagSynchronous);
  packet.seq = 0x01020304;
  packet.context = 0x1112131415161718;
  packet.source = -1;
  packet.tag = 42;
  packet.message_bytes = (std::uint64_t{1} << 32) + 1;
  packet.send_id = 0x11223344;
  packet.push_bytes = 3;
  Bytes bytes = bytes_of(packet);
  for (char c : {'a', 'b', 'c'}) bytes.push_back(static_cast<unsigned char>(c));
  EXPECT_EQ(bytes, golden_push());
  EXPECT_TRUE(accepts(bytes, P2pKind::push));
}

TEST(P2pPacket, an_eager_message_is_as_the_document_says) {
  WholePacket packet;
  packet.prefix = p2p_prefix(P2pKind::whole, kFlagCast);
  packet.seq = 0x01020304;
  packet.context = 0x1112131415161718;
  packet.source = -1;
  packet.tag = 42;
  const Bytes golden{3,    15,   2,    0,                             // version, whole, cast
                     0x04, 0x03, 0x02, 0x01,                          // seq
                     0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,  // context
                     0xff, 0xff, 0xff, 0xff,                          // source -1
                     0x2a, 0,    0,    0};                            // tag 42
  EXPECT_EQ(bytes_of(packet), golden);
  EXPECT_TRUE(accepts(golden, P2pKind::whole)) << "an empty message";
  Bytes longer = golden;
  longer.push_back('a');
  EXPECT_TRUE(accepts(longer, P2pKind::whole));
  EXPECT_FALSE(accepts(Bytes(golden.begin(), golden.end() - 1), P2pKind::whole));
  longer[2] = 1;
  EXPECT_FALSE(accepts(longer, P2pKind::whole)) << "it cannot be synchronous";
}

TEST(P2pPacket, an_eager_message_with_a_compact_header_is_as_the_document_says) {
  const AgainPacket packet{kP2pVersion, static_cast<std::uint8_t>(P2pKind::again), -2};
  const Bytes golden{3, 16, 0xfe, 0xff, 0xff, 0xff};  // version, again, tag -2
  EXPECT_EQ(bytes_of(packet), golden);
  EXPECT_TRUE(accepts(golden, P2pKind::again)) << "an empty message";
  Bytes longer = golden;
  longer.push_back('a');
  EXPECT_TRUE(accepts(longer, P2pKind::again));
  EXPECT_FALSE(accepts(Bytes(golden.begin(), golden.end() - 1), P2pKind::again));
}

TEST(P2pPacket, pull_is_as_the_document_says) {
  PullPacket packet;
  packet.prefix = p2p_prefix(P2pKind::pull);
  packet.send_id = 1;
  packet.seq = 2;
  packet.receive_id = 3;
  packet.offset = 4;
  packet.bytes = std::uint64_t{5} << 32;
  const Bytes golden{3, 2, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0,
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
  const Bytes golden{3, 3, 0, 0, 7, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1, 0xee};
  EXPECT_EQ(bytes, golden);
  EXPECT_TRUE(accepts(golden, P2pKind::data));
}

TEST(P2pPacket, short_kinds_are_as_the_document_says) {
  const AckPacket ack{p2p_prefix(P2pKind::ack), 1, 2};
  const Bytes golden_ack{3, 4, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0};
  EXPECT_EQ(bytes_of(ack), golden_ack);
  EXPECT_TRUE(accepts(golden_ack, P2pKind::ack));

  const CancelPacket cancel{p2p_prefix(P2pKind::cancel), 1, 2, 3};
  const Bytes golden_cancel{3, 5, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(bytes_of(cancel), golden_cancel);
  EXPECT_TRUE(accepts(golden_cancel, P2pKind::cancel));

  const CancelReplyPacket reply{p2p_prefix(P2pKind::cancel_reply, kFlagRemoved), 1, 2};
  const Bytes golden_reply{3, 6, 1, 0, 1, 0, 0, 0, 2, 0, 0, 0};
  EXPECT_EQ(bytes_of(reply), golden_reply);
  EXPECT_TRUE(accepts(golden_reply, P2pKind::cancel_reply));

  const GoodbyePacket goodbye{p2p_prefix(P2pKind::goodbye)};
  const Bytes golden_goodbye{3, 7, 0, 0};
  EXPECT_EQ(bytes_of(goodbye), golden_goodbye);
  EXPECT_TRUE(accepts(golden_goodbye, P2pKind::goodbye));

  const AllowancePacket allowance{p2p_prefix(P2pKind::allowance), 0x01020304};
  const Bytes golden_allowance{3, 8, 0, 0, 4, 3, 2, 1};
  EXPECT_EQ(bytes_of(allowance), golden_allowance);
  EXPECT_TRUE(accepts(golden_allowance, P2pKind::allowance));

  const MovedPacket moved{p2p_prefix(P2pKind::moved), 9};
  const Bytes golden_moved{3, 10, 0, 0, 9, 0, 0, 0};
  EXPECT_EQ(bytes_of(moved), golden_moved);
  EXPECT_TRUE(accepts(golden_moved, P2pKind::moved));

  const NoticePacket notice{p2p_prefix(P2pKind::notice), kNoticeLoses, 0x0102, 30};
  const Bytes golden_notice{3, 11, 0, 0, 2, 0, 0, 0, 2, 1, 0, 0, 30, 0, 0, 0};
  EXPECT_EQ(bytes_of(notice), golden_notice);
  EXPECT_TRUE(accepts(golden_notice, P2pKind::notice));
}

TEST(P2pPacket, a_bundle_is_as_the_document_says) {
  const Bytes golden{3, 12, 0, 0,                               // version, bundle
                     1, 0,  0, 0, 5, 0, 3, 1, 2, 0, 'a',        // for rank 1
                     2, 0,  0, 0, 6, 0, 3, 3, 3, 0, 'b', 'c'};  // for rank 2
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

TEST(P2pPacket, calls_to_a_lane_are_as_the_document_says) {
  const Bytes invite{3, 13, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0x80,  // lane 1 of rank 7
                     7, 0,  0, 0, 9, 0, 0, 0};
  EXPECT_TRUE(accepts(invite, P2pKind::invite));
  EXPECT_EQ(as<InvitePacket>(std::as_bytes(std::span(invite))).name, 0x8000000700000001u);
  EXPECT_FALSE(accepts(Bytes(invite.begin(), invite.end() - 1), P2pKind::invite));
  EXPECT_TRUE(accepts({3, 14, 0, 0}, P2pKind::dismiss));
  EXPECT_FALSE(accepts({3, 14, 0, 0, 0}, P2pKind::dismiss));
}

TEST(P2pPacket, a_direct_push_and_its_split_copy_are_as_the_document_says) {
  PushPacket push;
  push.prefix = p2p_prefix(P2pKind::push, kFlagInPlace);
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
  EXPECT_FALSE(accepts(bytes, P2pKind::push)) << "no run";
  for (std::size_t n = 1; n <= kMostRuns; ++n) {
    bytes.insert(bytes.end(), one.begin(), one.end());
    EXPECT_TRUE(accepts(bytes, P2pKind::push)) << n;
  }
  Bytes cut(bytes.begin(), bytes.end() - 1);
  EXPECT_FALSE(accepts(cut, P2pKind::push)) << "half a run";
  bytes.insert(bytes.end(), one.begin(), one.end());
  EXPECT_FALSE(accepts(bytes, P2pKind::push)) << "too many";

  const MeetPacket meet{p2p_prefix(P2pKind::meet), 1, 2, 3, 4, 0x0102030405060708};
  const Bytes golden_meet{3, 9, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0,
                          4, 0, 0, 0, 0, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1};
  EXPECT_EQ(bytes_of(meet), golden_meet);
  EXPECT_TRUE(accepts(golden_meet, P2pKind::meet));
}

TEST(P2pPacket, wrong_lengths_versions_kinds_and_flags_are_refused) {
  const Bytes good = golden_push();
  P2pKind kind{};
  for (std::size_t n = 0; n < sizeof(PushPacket); ++n) {
    const Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n));
    EXPECT_FALSE(decode(std::as_bytes(std::span(cut)), kind)) << n;
  }
  Bytes longer = good;
  longer.push_back(0);
  EXPECT_FALSE(accepts(longer, P2pKind::push));
  for (auto [at, value] :
       {std::pair<std::size_t, unsigned char>{0, 1}, {1, 0}, {1, 11}, {1, 255}, {2, 8}, {3, 1}, {36, 2}}) {
    Bytes bad = good;
    bad[at] = value;
    EXPECT_FALSE(decode(std::as_bytes(std::span(bad)), kind)) << at << " " << int(value);
  }
}

// The quick check of a push must never accept a packet that the full check refuses.
TEST(P2pPacket, the_quick_check_accepts_complete_pushes_only) {
  PushPacket header;
  header.prefix = p2p_prefix(P2pKind::push);
  header.seq = 1;
  header.context = 2;
  header.source = 3;
  header.tag = 4;
  header.message_bytes = 5;
  header.send_id = 0;
  header.push_bytes = 5;
  Bytes good = bytes_of(header);
  good.resize(good.size() + 5);
  EXPECT_TRUE(is_whole_push(std::as_bytes(std::span(good))));
  EXPECT_TRUE(accepts(good, P2pKind::push));
  // Any change of prefix, lengths or id, and any other length of the packet.
  for (const std::size_t at : {0u, 1u, 2u, 3u, 24u, 31u, 32u, 35u, 36u, 39u}) {
    Bytes wrong = good;
    wrong[at] ^= 2;
    EXPECT_FALSE(is_whole_push(std::as_bytes(std::span(wrong)))) << at;
  }
  for (std::size_t size = 0; size < 60; ++size) {
    Bytes wrong = good;
    wrong.resize(size);
    EXPECT_EQ(is_whole_push(std::as_bytes(std::span(wrong))), size == good.size()) << size;
  }
}

TEST(P2pPacket, random_bytes_with_a_wrong_length_are_refused) {
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
    if (kind == P2pKind::push) {
      EXPECT_LE(bytes.size(), sizeof(PushPacket) + as<PushPacket>(view).push_bytes);
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
