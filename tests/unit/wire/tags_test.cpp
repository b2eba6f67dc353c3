// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: tags of a batch differ from tags made singly, for some batch size or on some
// processor; datagrams opened in a batch give another result than singly.
#include "wire/tags.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/prng.hpp"

using namespace herald;
using namespace herald::wire;

namespace {

constexpr std::uint32_t kMe = 3;
using Bytes = std::vector<std::byte>;

Bytes some_head(Prng& chance) {
  Bytes head(sizeof(DatagramHead));
  for (std::byte& each : head) each = static_cast<std::byte>(chance.below(256));
  return head;
}

std::uint64_t tag_in(const Bytes& head) {
  std::uint64_t tag = 0;
  std::memcpy(&tag, head.data() + 12, sizeof tag);
  return tag;
}

// A datagram that is valid, or broken in one of several ways.
Bytes some_datagram(const Seal& job, Prng& chance) {
  const std::uint8_t acks[] = {0, 0, kFlagAck, kFlagAck | kFlagShort};
  const std::uint8_t flags = acks[chance.below(4)];
  Bytes body(chance.below(1400));
  for (std::byte& each : body) each = static_cast<std::byte>(chance.below(256));
  Bytes out(head_bytes(flags));
  write_head(out.data(), DatagramKind::data, flags, job, 7, chance.below(1u << 30));
  seal(job, kMe, body.empty() ? 0 : crc32c(body), out);
  out.insert(out.end(), body.begin(), body.end());
  switch (chance.below(6)) {
    case 0: out[chance.below(static_cast<std::uint32_t>(out.size()))] ^= std::byte{0x10}; break;
    case 1: out.resize(chance.below(static_cast<std::uint32_t>(out.size()))); break;
    default: break;
  }
  return out;
}

}  // namespace

TEST(Tags, tags_of_a_batch_equal_single_ones) {
  Prng chance(1);
  for (int round = 0; round < 500; ++round) {
    const Seal job{{chance.next(), chance.next()}, static_cast<std::uint32_t>(chance.next())};
    const std::size_t count = 1 + chance.below(kTagsAtOnce);
    std::vector<Bytes> heads;
    std::vector<TagAsked> asked;
    for (std::size_t i = 0; i < count; ++i) heads.push_back(some_head(chance));
    for (const Bytes& head : heads)
      asked.push_back({head.data(), static_cast<std::uint32_t>(chance.next()),
                       static_cast<std::uint32_t>(chance.next()), static_cast<std::uint32_t>(chance.next())});
    const Tags plain = tags_one_by_one(job, asked);
    const Tags wide = tags_are_wide() ? tags_wide(job, asked) : plain;
    const Tags chosen = tags_of(job, asked);
    for (std::size_t i = 0; i < count; ++i) {
      Bytes sealed = heads[i];
      seal(job, asked[i].to, asked[i].body_crc, sealed, {asked[i].upper, 0});
      EXPECT_EQ(plain[i], tag_in(sealed));
      EXPECT_EQ(wide[i], plain[i]);
      EXPECT_EQ(chosen[i], plain[i]);
      set_tag(heads[i].data(), plain[i]);
      EXPECT_EQ(heads[i], sealed);
    }
  }
}

TEST(Tags, datagrams_opened_in_a_batch_give_the_same_results) {
  Prng chance(2);
  const Seal job{{11, 12}, 0x0304};
  int good = 0, bad = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<Bytes> datagrams;
    for (std::uint32_t i = chance.below(12); i > 0; --i) datagrams.push_back(some_datagram(job, chance));
    std::vector<OpenedDatagram> all(datagrams.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].datagram = datagrams[i];
      all[i].upper.seq = chance.below(8) == 0 ? 1 : 0;
      all[i].upper.next = chance.below(8) == 0 ? 1 : 0;
    }
    open_datagrams(job, kMe, all);
    for (const OpenedDatagram& one : all) {
      DatagramView alone;
      const Opened opened = open_datagram(job, kMe, one.datagram, alone, one.upper);
      ASSERT_EQ(one.opened, opened);
      ++(opened == Opened::good ? good : bad);
      if (opened != Opened::good) continue;
      EXPECT_EQ(one.view.kind, alone.kind);
      EXPECT_EQ(one.view.flags, alone.flags);
      EXPECT_EQ(one.view.from, alone.from);
      EXPECT_EQ(one.view.seq, alone.seq);
      EXPECT_EQ(one.view.ack.data(), alone.ack.data());
      EXPECT_EQ(one.view.ack.size(), alone.ack.size());
      EXPECT_EQ(one.view.body.data(), alone.body.data());
      EXPECT_EQ(one.view.body.size(), alone.body.size());
    }
  }
  EXPECT_GT(good, 100);
  EXPECT_GT(bad, 100);
}
