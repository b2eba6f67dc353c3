// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a frame arrives changed, joined with its neighbour or in part; a peer that does not
// read makes the sender block or use memory without bound; a stranger blocks the others or uses memory; a
// connection that ended is not noticed.
#include "path/tcp/tcp.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <functional>

#include "udp_pair.hpp"

using namespace herald::path;
using Kind = TcpEvent::Kind;

namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  name.sin_port = htons(port);
  return name;
}

const sockaddr& plain(const sockaddr_in& name) { return reinterpret_cast<const sockaddr&>(name); }

// Two paths; events are copied as they come.
struct Two {
  struct Event {
    Kind kind;
    TcpId id;
    int tag = 0, link = 0;
    Bytes bytes = {};
  };
  TcpPath paths[2];
  std::vector<Event> events[2];
  std::uint16_t port = 0;

  Two() {
    for (port = 24000; port < 30000; ++port)
      if (paths[1].listen(plain(loopback(port)), sizeof(sockaddr_in))) return;
  }
  void turn() {
    for (int i = 0; i < 2; ++i)
      for (const TcpEvent& one : paths[i].poll())
        events[i].push_back({one.kind, one.id, one.frame.kind, one.frame.link,
                             Bytes(one.frame.bytes.begin(), one.frame.bytes.end())});
  }
  bool run_until(const std::function<bool()>& condition) {
    for (int i = 0; i < 10'000 && !condition(); ++i) {
      turn();
      pollfd both[2] = {{paths[0].descriptor(), POLLIN, 0}, {paths[1].descriptor(), POLLIN, 0}};
      (void)::poll(both, 2, 1);
    }
    return condition();
  }
  std::size_t count(int end, Kind kind) const {
    std::size_t found = 0;
    for (const Event& one : events[end]) found += one.kind == kind ? 1 : 0;
    return found;
  }
  TcpId id_of(int end, Kind kind) const {
    for (const Event& one : events[end])
      if (one.kind == kind) return one.id;
    return 0;
  }
  // The ids on both sides.
  std::pair<TcpId, TcpId> connect(bool trust = true) {
    const TcpId id = paths[0].connect(plain(loopback(0)), plain(loopback(port)), sizeof(sockaddr_in));
    EXPECT_NE(id, 0u);
    EXPECT_TRUE(run_until([&] { return count(0, Kind::opened) != 0 && count(1, Kind::accepted) != 0; }));
    const TcpId other = id_of(1, Kind::accepted);
    if (trust) {
      paths[0].trust(id);
      paths[1].trust(other);
    }
    return {id, other};
  }
};

int raw_connect(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in to = loopback(port);
  return ::connect(fd, &plain(to), sizeof to) == 0 ? fd : -1;
}

}  // namespace

TEST(Tcp, frames_of_every_size_arrive_unchanged_and_in_order) {
  Two two;
  const auto [id, other] = two.connect();
  std::vector<Bytes> sent;
  for (const std::size_t size : {0u, 1u, 20u, 1472u, 8972u, 65506u, 65507u, 65535u, 3u})
    sent.push_back(pattern(size, size));
  std::vector<TcpFrame> frames;
  for (std::size_t i = 0; i < sent.size(); ++i) {  // some in two parts
    const std::span<const std::byte> all(sent[i]);
    const std::size_t cut = i % 2 == 0 ? all.size() : all.size() / 2;
    frames.push_back({static_cast<std::uint8_t>(i), 7, all.first(cut), all.subspan(cut)});
  }
  EXPECT_EQ(two.paths[0].send(id, frames), frames.size());
  ASSERT_TRUE(two.run_until([&] { return two.count(1, Kind::frame) == sent.size(); }));
  std::size_t at = 0;
  for (const Two::Event& one : two.events[1]) {
    if (one.kind != Kind::frame) continue;
    EXPECT_EQ(one.bytes, sent[at]);
    EXPECT_EQ(one.tag, static_cast<int>(at));
    EXPECT_EQ(one.link, 7);
    ++at;
  }
}

TEST(Tcp, a_reader_that_stops_bounds_memory_and_then_gets_all_that_was_taken) {
  Two two;
  const auto [id, other] = two.connect();
  const Bytes body = pattern(60'000, 1);
  const TcpFrame frame{1, 0, body};
  std::size_t taken = 0;
  while (taken < 2000 && two.paths[0].send(id, {&frame, 1}) == 1) ++taken;
  EXPECT_LT(taken, 2000u);  // 120 MB: refused before that
  EXPECT_GT(taken * body.size(), tcp::kMostKept / 2);
  ASSERT_TRUE(two.run_until([&] { return two.count(1, Kind::frame) == taken; }));
  for (const Two::Event& one : two.events[1]) {
    if (one.kind != Kind::frame) continue;
    ASSERT_EQ(one.bytes, body);
  }
  EXPECT_EQ(two.paths[0].send(id, {&frame, 1}), 1u);
}

TEST(Tcp, frames_that_come_byte_by_byte_are_put_together) {
  Two two;
  const int fd = raw_connect(two.port);
  ASSERT_GE(fd, 0);
  ASSERT_TRUE(two.run_until([&] { return two.count(1, Kind::accepted) == 1; }));
  const unsigned char bytes[] = {3, 0, 9, 2, 'a', 'b', 'c', 0, 0, 8, 1, 1, 0, 7, 0, 'x'};
  for (const unsigned char& one : bytes) {
    ASSERT_EQ(::send(fd, &one, 1, 0), 1);
    for (int i = 0; i < 3; ++i) two.turn();
  }
  ASSERT_TRUE(two.run_until([&] { return two.count(1, Kind::frame) == 3; }));
  std::vector<std::size_t> sizes;
  for (const Two::Event& one : two.events[1])
    if (one.kind == Kind::frame) sizes.push_back(one.bytes.size());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{3, 0, 1}));
  ::close(fd);
  EXPECT_TRUE(two.run_until([&] { return two.count(1, Kind::closed) == 1; }));
}

TEST(Tcp, frames_behind_the_one_that_earns_trust_are_delivered) {
  Two two;
  const auto [id, other] = two.connect(false);
  two.paths[1].trust(other);
  const Bytes first = pattern(10, 1), second = pattern(9000, 2);
  const TcpFrame frames[] = {{3, 0, first}, {4, 0, second}, {4, 0, first}};
  EXPECT_EQ(two.paths[1].send(other, frames), 3u);
  ASSERT_TRUE(two.run_until([&] { return two.count(0, Kind::frame) == 1; }));
  two.paths[0].trust(id);
  ASSERT_TRUE(two.run_until([&] { return two.count(0, Kind::frame) == 3; }));
  EXPECT_EQ(two.events[0].back().bytes, first);
}

TEST(Tcp, a_frame_left_in_memory_stays_there_when_more_comes) {
  Two two;
  const auto [id, other] = two.connect(false);
  two.paths[1].trust(other);
  const Bytes first = pattern(10, 1), second = pattern(40, 2), third = pattern(30, 3);
  const TcpFrame frames[] = {{3, 0, first}, {4, 0, second}}, more[] = {{4, 0, third}};
  EXPECT_EQ(two.paths[1].send(other, frames), 2u);
  ASSERT_TRUE(two.run_until([&] { return two.count(0, Kind::frame) == 1; }));
  two.paths[0].trust(id);
  EXPECT_EQ(two.paths[1].send(other, more), 1u);  // is there before the second frame is taken
  ASSERT_TRUE(two.run_until([&] { return two.count(0, Kind::frame) == 3; }));
  EXPECT_EQ(two.events[0][two.events[0].size() - 2].bytes, second);
  EXPECT_EQ(two.events[0].back().bytes, third);
}

TEST(Tcp, a_stranger_that_sends_a_long_frame_is_cut_off) {
  Two two;
  const int fd = raw_connect(two.port);
  ASSERT_GE(fd, 0);
  const char text[] = "GET / HTTP/1.1\r\nHost: example\r\n\r\n";
  ASSERT_GT(::send(fd, text, sizeof text, 0), 0);
  EXPECT_TRUE(two.run_until([&] { return two.count(1, Kind::closed) == 1; }));
  EXPECT_EQ(two.count(1, Kind::frame), 0u);
  ::close(fd);
}

TEST(Tcp, many_strangers_push_out_the_oldest_only_of_their_kind) {
  Two two;
  const auto [id, other] = two.connect();
  std::vector<int> strangers;
  for (std::size_t i = 0; i < TcpPath::kMostUntrusted + 5; ++i) {
    strangers.push_back(raw_connect(two.port));
    ASSERT_TRUE(two.run_until([&] { return two.count(1, Kind::accepted) == i + 2; }));
  }
  EXPECT_EQ(two.count(1, Kind::closed), 5u);
  const Bytes body = pattern(100, 1);
  const TcpFrame frame{1, 0, body};
  EXPECT_EQ(two.paths[0].send(id, {&frame, 1}), 1u);
  EXPECT_TRUE(two.run_until([&] { return two.count(1, Kind::frame) == 1; }));
  for (const int fd : strangers) ::close(fd);
}

TEST(Tcp, a_refused_connect_and_a_broken_connection_are_reported) {
  Two two;
  const auto [id, other] = two.connect();
  const TcpId none = two.paths[0].connect(plain(loopback(0)), plain(loopback(1)), sizeof(sockaddr_in));
  if (none != 0) {
    EXPECT_TRUE(two.run_until([&] { return two.count(0, Kind::closed) == 1; }));
  }
  two.events[0].clear();
  two.paths[1].close(other);
  EXPECT_TRUE(two.run_until([&] { return two.count(0, Kind::closed) == 1; }));
  EXPECT_EQ(two.id_of(0, Kind::closed), id);
  const TcpFrame frame{1, 0, {}};
  EXPECT_EQ(two.paths[0].send(id, {&frame, 1}), 0u);
  EXPECT_EQ(two.count(1, Kind::closed), 0u);  // its own close
}

TEST(Tcp, a_port_that_another_listens_on_is_refused) {
  Two two;
  TcpPath other;
  EXPECT_FALSE(other.listen(plain(loopback(two.port)), sizeof(sockaddr_in)));
}
