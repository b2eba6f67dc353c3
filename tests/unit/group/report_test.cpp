// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a member that joined late is reported; a member without multicast is not reported, or
// twice, or by every rank; the line lacks names.
#include "group/report.hpp"

#include <gtest/gtest.h>

namespace herald::group {
namespace {

Instant at(std::int64_t ms) { return Instant{} + milliseconds(1000 + ms); }
std::string host(std::int32_t rank) { return "h" + std::to_string(rank / 2); }  // two ranks on each

TEST(MulticastMonitor, a_short_outage_causes_no_notice) {
  MulticastMonitor monitor;
  EXPECT_EQ(monitor.next_deadline(), rel::kNever);
  monitor.on_reachability(at(0), 1, 4, false);
  EXPECT_EQ(monitor.next_deadline(), at(0) + kReportAfter);
  EXPECT_TRUE(monitor.take_due(at(499), false).empty());
  monitor.on_reachability(at(499), 1, 4, true);
  EXPECT_TRUE(monitor.take_due(at(5000), false).empty());
  EXPECT_EQ(monitor.next_deadline(), rel::kNever);
}

TEST(MulticastMonitor, a_lasting_outage_causes_one_notice_for_all_lanes) {
  MulticastMonitor monitor;
  monitor.on_reachability(at(0), 1, 4, false);
  monitor.on_reachability(at(0), 2, 4, false);
  monitor.on_reachability(at(200), 1, 4, false);  // no change
  const auto due = monitor.take_due(at(500), false);
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].member, 4);
  EXPECT_EQ(due[0].loses, 0u);
  monitor.on_reachability(at(600), 1, 4, true);
  monitor.on_reachability(at(700), 1, 4, false);
  EXPECT_TRUE(monitor.take_due(at(9000), false).empty());
}

TEST(MulticastMonitor, at_the_end_a_shorter_outage_causes_a_notice) {
  MulticastMonitor monitor;
  monitor.on_reachability(at(0), 1, 4, false);
  EXPECT_TRUE(monitor.take_due(at(50), true).empty());
  EXPECT_EQ(monitor.take_due(at(100), true).size(), 1u);
}

TEST(MulticastMonitor, at_the_end_a_member_that_received_multicast_has_the_full_time) {
  MulticastMonitor monitor;
  monitor.on_reachability(at(0), 1, 4, true);
  monitor.on_reachability(at(10), 1, 4, false);
  EXPECT_TRUE(monitor.take_due(at(400), true).empty());
  EXPECT_EQ(monitor.take_due(at(510), true).size(), 1u);
}

TEST(MulticastMonitor, loss_causes_one_notice_at_once) {
  MulticastMonitor monitor;
  monitor.on_loss(3, 30);
  EXPECT_EQ(monitor.next_deadline(), Instant{});
  monitor.on_loss(3, 40);
  const auto due = monitor.take_due(at(0), false);
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].loses, 30u);
}

TEST(MulticastReport, gathers_notices_into_one_line) {
  MulticastReport report;
  EXPECT_FALSE(report.is_due(at(9000), true));
  report.add(at(0), 0, {4, 0});
  report.add(at(100), 2, {5, 0});
  report.add(at(100), 6, {6, 30});
  report.add(at(100), 7, {4, 30});  // no multicast at all is worse
  report.add(at(400), 0, {4, 0});   // known already
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

TEST(MulticastReport, waits_a_bounded_time) {
  MulticastReport report;
  for (std::int32_t i = 0; i < 10; ++i) report.add(at(400 * i), 0, {i + 2, 0});
  EXPECT_EQ(report.next_deadline(), at(2000));
}

TEST(MulticastReport, names_some_hosts_and_counts_the_rest) {
  MulticastReport report;
  for (std::int32_t rank = 2; rank < 40; ++rank) report.add(at(0), 0, {rank, 0});
  EXPECT_NE(report.take_line(host).find("h8 and 11 more;"), std::string::npos);
}

}  // namespace
}  // namespace herald::group
