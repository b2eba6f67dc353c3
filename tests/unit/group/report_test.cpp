// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a member that joined late is told a person as deaf; one that is deaf is not told, or
// twice, or by every rank; a line without the names that matter.
#include "group/report.hpp"

#include <gtest/gtest.h>

namespace herald::group {
namespace {

Instant at(std::int64_t ms) { return Instant{} + milliseconds(1000 + ms); }
std::string host(std::int32_t rank) { return "h" + std::to_string(rank / 2); }  // two ranks on each

TEST(Witness, what_heals_soon_is_not_told) {
  Witness witness;
  EXPECT_EQ(witness.next_deadline(), rel::kNever);
  witness.on_hearing(at(0), 1, 4, false);
  EXPECT_EQ(witness.next_deadline(), at(0) + kPatience);
  EXPECT_TRUE(witness.take_due(at(499), false).empty());
  witness.on_hearing(at(499), 1, 4, true);
  EXPECT_TRUE(witness.take_due(at(5000), false).empty());
  EXPECT_EQ(witness.next_deadline(), rel::kNever);
}

TEST(Witness, what_lasts_is_told_once_whatever_the_lane) {
  Witness witness;
  witness.on_hearing(at(0), 1, 4, false);
  witness.on_hearing(at(0), 2, 4, false);
  witness.on_hearing(at(200), 1, 4, false);  // no news
  const auto due = witness.take_due(at(500), false);
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].member, 4);
  EXPECT_EQ(due[0].loses, 0u);
  witness.on_hearing(at(600), 1, 4, true);
  witness.on_hearing(at(700), 1, 4, false);
  EXPECT_TRUE(witness.take_due(at(9000), false).empty());
}

TEST(Witness, at_the_end_less_patience_will_do) {
  Witness witness;
  witness.on_hearing(at(0), 1, 4, false);
  EXPECT_TRUE(witness.take_due(at(50), true).empty());
  EXPECT_EQ(witness.take_due(at(100), true).size(), 1u);
}

TEST(Witness, at_the_end_one_that_did_hear_is_given_all_the_time) {
  Witness witness;
  witness.on_hearing(at(0), 1, 4, true);
  witness.on_hearing(at(10), 1, 4, false);
  EXPECT_TRUE(witness.take_due(at(400), true).empty());
  EXPECT_EQ(witness.take_due(at(510), true).size(), 1u);
}

TEST(Witness, loss_is_told_once_and_at_once) {
  Witness witness;
  witness.on_loss(3, 30);
  EXPECT_EQ(witness.next_deadline(), Instant{});
  witness.on_loss(3, 40);
  const auto due = witness.take_due(at(0), false);
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].loses, 30u);
}

TEST(Report, gathers_and_is_one_line) {
  Report report;
  EXPECT_FALSE(report.is_due(at(9000), true));
  report.add(at(0), 0, {4, 0});
  report.add(at(100), 2, {5, 0});
  report.add(at(100), 6, {6, 30});
  report.add(at(100), 7, {4, 30});  // deaf is worse
  report.add(at(400), 0, {4, 0});   // known
  EXPECT_FALSE(report.is_due(at(599), false));
  EXPECT_TRUE(report.is_due(at(10), true));
  EXPECT_TRUE(report.is_due(at(600), false));
  const std::string line = report.take_line(host);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_NE(line.find("from h0, h1 does not reach h2;"), std::string::npos) << line;
  EXPECT_NE(line.find("up to 30 % of the multicast to h3 is lost"), std::string::npos) << line;
  EXPECT_NE(line.find("herald doctor"), std::string::npos);
  EXPECT_NE(line.find("IGMP"), std::string::npos);
  report.add(at(900), 0, {7, 0});
  EXPECT_FALSE(report.is_due(at(9000), true));
  EXPECT_EQ(report.next_deadline(), rel::kNever);
}

TEST(Report, does_not_wait_for_ever) {
  Report report;
  for (std::int32_t i = 0; i < 10; ++i) report.add(at(400 * i), 0, {i + 2, 0});
  EXPECT_EQ(report.next_deadline(), at(2000));
}

TEST(Report, many_hosts_are_counted) {
  Report report;
  for (std::int32_t rank = 2; rank < 40; ++rank) report.add(at(0), 0, {rank, 0});
  EXPECT_NE(report.take_line(host).find("h8 and 11 more;"), std::string::npos);
}

}  // namespace
}  // namespace herald::group
