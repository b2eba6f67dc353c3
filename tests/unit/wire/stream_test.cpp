// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a hello, welcome, report or probe of a stranger, of another job, epoch or pair, or a
// copy from an earlier connection, is taken for a proof of the key.
#include "wire/stream.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

using namespace herald::wire;

namespace {

const Seal kSeal{{1, 2}, 3};
const StreamNonce kOpened{10, 11}, kAccepted{20, 21};

template <class Body>
std::vector<std::byte> bytes_of(const Body& body) {
  const auto* const at = reinterpret_cast<const std::byte*>(&body);
  return {at, at + sizeof body};
}

}  // namespace

TEST(Stream, both_ends_compute_the_same_tags) {
  const StreamSession opener(kSeal, 0, 1, kOpened, kAccepted), acceptor(kSeal, 0, 1, kOpened, kAccepted);
  EXPECT_EQ(opener.hello_tag(), acceptor.hello_tag());
  EXPECT_EQ(opener.welcome_tag(), acceptor.welcome_tag());
  StreamReport report;
  ASSERT_TRUE(acceptor.read_report(0, bytes_of(opener.make_report(0, 7, 9, true)), report));
  EXPECT_EQ(report.number, 7u);
  EXPECT_EQ(report.heard, 9u);
  EXPECT_EQ(report.by_tcp, 1u);
  UdpProbe probe;
  const auto sent = bytes_of(acceptor.make_probe(1, 5));
  EXPECT_TRUE(is_udp_probe(sent));
  EXPECT_EQ(probe_sender(sent), 1u);
  ASSERT_TRUE(opener.read_probe(sent, probe));
  EXPECT_EQ(probe.number, 5u);
}

TEST(Stream, each_part_of_the_handshake_changes_all_tags) {
  const StreamSession all[] = {
      {kSeal, 0, 1, kOpened, kAccepted},       {{{1, 3}, 3}, 0, 1, kOpened, kAccepted},
      {{{0, 2}, 3}, 0, 1, kOpened, kAccepted}, {{{1, 2}, 4}, 0, 1, kOpened, kAccepted},
      {kSeal, 1, 0, kOpened, kAccepted},       {kSeal, 0, 2, kOpened, kAccepted},
      {kSeal, 0, 1, {10, 12}, kAccepted},      {kSeal, 0, 1, kOpened, {20, 22}},
      {kSeal, 0, 1, {12, 11}, kAccepted},      {kSeal, 0, 1, kOpened, {22, 21}},
      {kSeal, 0, 1, kAccepted, kOpened},
  };
  std::set<std::uint64_t> tags;
  std::size_t count = 0;
  for (const StreamSession& one : all) {
    for (const std::uint64_t tag :
         {one.hello_tag(), one.welcome_tag(), std::uint64_t{one.make_report(0, 1, 0, false).tag},
          std::uint64_t{one.make_probe(0, 1).tag}}) {
      tags.insert(tag);
      ++count;
    }
  }
  EXPECT_EQ(tags.size(), count);
}

TEST(Stream, a_changed_or_cut_report_or_probe_is_refused) {
  const StreamSession session(kSeal, 0, 1, kOpened, kAccepted);
  const auto report = bytes_of(session.make_report(0, 7, 9, true)),
             probe = bytes_of(session.make_probe(0, 5));
  StreamReport read;
  UdpProbe came;
  EXPECT_FALSE(session.read_report(1, report, read));  // of the other end
  EXPECT_FALSE(session.read_report(0, {report.data(), report.size() - 1}, read));
  EXPECT_FALSE(session.read_report(0, {}, read));
  EXPECT_FALSE(session.read_probe({probe.data(), probe.size() - 1}, came));
  for (std::size_t bit = 0; bit < 8 * report.size(); ++bit) {
    auto bad = report;
    bad[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_FALSE(session.read_report(0, bad, read)) << bit;
  }
  for (std::size_t bit = 0; bit < 8 * probe.size(); ++bit) {
    auto bad = probe;
    bad[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_FALSE(session.read_probe(bad, came)) << bit;
  }
}

TEST(Stream, no_other_datagram_looks_like_a_probe) {
  std::vector<std::byte> datagram(sizeof(UdpProbe));
  write_head(datagram.data(), DatagramKind::ack, 0, kSeal, 0, 0);
  EXPECT_FALSE(is_udp_probe(datagram));
}
