// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: datagrams of a UDP_SEGMENT run are split at the wrong offsets, arrive in another
// order, or go to the group of their neighbours; send() reports more datagrams than it sent.
#include "path/mcast/mcast.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

namespace herald::path {
namespace {

constexpr std::uint32_t kLoopback = 1;
constexpr GroupAddress kFirst{239, 255, 77, 11}, kSecond{239, 255, 77, 12};

struct One {
  const GroupAddress* group;
  std::size_t bytes;
};

std::unique_ptr<McastPath> open(bool segment, std::string& why) {
  McastConfig config;
  config.local = {127, 0, 0, 1};
  config.interface = kLoopback;
  config.port = static_cast<std::uint16_t>(20'000 + ::getpid() % 20'000);
  config.loop = true;
  config.segment = segment;
  std::unique_ptr<McastPath> path = McastPath::open(config, why);
  if (path && !(path->join(kFirst) && path->join(kSecond))) {
    why = "no group can be joined on the loopback";
    return nullptr;
  }
  return path;
}

std::vector<std::byte> fill(std::size_t number, std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(number * 31 + i);
  return out;
}

// Sends them all and receives them.
void check(McastPath& path, const std::vector<One>& all) {
  std::vector<std::vector<std::byte>> sent;
  std::vector<McastPath::Send> batch;
  for (const One& one : all) sent.push_back(fill(sent.size(), one.bytes));
  for (std::size_t i = 0; i < all.size(); ++i) batch.push_back({all[i].group, sent[i]});
  path.track_groups();
  std::size_t left = 0, came = 0;
  while (left < batch.size()) {
    const std::size_t now = path.send(std::span(batch).subspan(left));
    ASSERT_GT(now, 0u) << "after " << left;
    left += now;
    for (pollfd fd{path.descriptor(), POLLIN, 0}; came < left && ::poll(&fd, 1, 5000) == 1;) {
      const auto arrivals = path.receive();
      for (std::size_t k = 0; k < arrivals.size(); ++k, ++came) {
        ASSERT_LT(came, left) << "more came than left";
        EXPECT_EQ(std::vector(arrivals[k].begin(), arrivals[k].end()), sent[came]) << came;
        ASSERT_NE(path.group_of(k), nullptr);
        EXPECT_EQ(*path.group_of(k), *all[came].group) << came;
      }
    }
    ASSERT_EQ(came, left);
  }
}

class Mcast : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    std::string why;
    path_ = open(GetParam(), why);
    if (!path_) GTEST_SKIP() << why;
    const std::byte nothing{};
    if (path_->send(std::array<McastPath::Send, 1>{{{&kFirst, {&nothing, 1}}}}) == 0)
      GTEST_SKIP() << "the loopback takes no multicast here";
    pollfd fd{path_->descriptor(), POLLIN, 0};
    if (::poll(&fd, 1, 5000) != 1) GTEST_SKIP() << "the loopback brings no multicast back here";
    (void)path_->receive();
  }
  std::unique_ptr<McastPath> path_;
};

}  // namespace

TEST_P(Mcast, equal_datagrams_and_a_shorter_last_one) {
  std::vector<One> all(44, {&kFirst, 1472});
  all.push_back({&kFirst, 100});
  check(*path_, all);
}

TEST_P(Mcast, sizes_and_groups_that_change_in_between) {
  check(*path_, {{&kFirst, 1472},
                 {&kFirst, 1472},
                 {&kSecond, 1472},
                 {&kSecond, 1472},
                 {&kFirst, 1472},
                 {&kFirst, 10},
                 {&kFirst, 1472},
                 {&kFirst, 1473 - 1},
                 {&kFirst, 20},
                 {&kFirst, 20},
                 {&kFirst, 21},
                 {&kFirst, 1}});
}

TEST_P(Mcast, long_batches_tell_the_rate_of_the_interface) {
  check(*path_, std::vector<One>(4, {&kFirst, 1472}));
  EXPECT_EQ(path_->uplink_rate(), 0u);
  for (int i = 0; i < 10; ++i) check(*path_, std::vector<One>(44, {&kFirst, 1472}));
  EXPECT_GT(path_->uplink_rate(), 0u) << "the loopback takes all at once";
}

TEST_P(Mcast, more_than_fit_into_one_call) {
  check(*path_, std::vector<One>(300, {&kFirst, 1472}));
  check(*path_, std::vector<One>(300, {&kSecond, 8}));
}

TEST_P(Mcast, more_groups_than_names_in_one_call) {
  std::array<GroupAddress, 7> groups;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i] = {239, 255, 77, static_cast<std::uint8_t>(20 + i)};
    ASSERT_TRUE(path_->join(groups[i]));
  }
  std::vector<One> all;
  for (const GroupAddress& group : groups) all.insert(all.end(), 3, {&group, 700});
  check(*path_, all);
}

INSTANTIATE_TEST_SUITE_P(Gso, Mcast, testing::Bool(),
                         [](const auto& which) { return which.param ? "segmented" : "one_by_one"; });

}  // namespace herald::path
