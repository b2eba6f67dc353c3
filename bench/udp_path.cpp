// SPDX-License-Identifier: BSD-3-Clause
// bench/udp_path.cpp: the cost of path/udp against plain socket calls. Two processes: one sends datagrams at
// full speed for a second, then both exchange 8 bytes, polling.
//   bench_udp_path [--veth]      --veth: between two network namespaces (root), else over loopback
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "path/udp/udp.hpp"

using namespace herald::path;

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kBatch = 64;
constexpr double kSeconds = 1.0;
constexpr int kBounces = 20000;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// A way to send and receive batches; all datagrams have one size.
struct Way {
  virtual ~Way() = default;
  virtual std::size_t send(std::size_t count, std::size_t size) = 0;
  virtual std::size_t receive(std::size_t& bytes) = 0;
};

struct PathWay final : Way {
  std::unique_ptr<UdpPath> path;
  std::vector<std::byte> memory = std::vector<std::byte>(kBatch * 65536);
  std::vector<UdpSend> batch;
  std::size_t send(std::size_t count, std::size_t size) override {
    batch.clear();
    for (std::size_t i = 0; i < count; ++i) batch.push_back({path_to, 0, {memory.data() + i * size, size}});
    std::ptrdiff_t failed = -1;
    return path->send(batch, failed);
  }
  std::size_t receive(std::size_t& bytes) override {
    const auto came = path->receive();
    for (const UdpArrival& each : came) bytes += each.bytes.size();
    return came.size();
  }
  int path_to = 0;
};

struct RawWay final : Way {
  int fd = -1;
  sockaddr_in to{};
  std::vector<char> memory = std::vector<char>(kBatch * 65536);
  std::vector<mmsghdr> headers = std::vector<mmsghdr>(kBatch);
  std::vector<iovec> parts = std::vector<iovec>(kBatch);
  void fill(std::size_t size, bool with_name) {
    for (std::size_t i = 0; i < kBatch; ++i) {
      parts[i] = {memory.data() + i * size, size};
      headers[i].msg_hdr = {};
      headers[i].msg_hdr.msg_iov = &parts[i];
      headers[i].msg_hdr.msg_iovlen = 1;
      if (with_name) headers[i].msg_hdr.msg_name = &to, headers[i].msg_hdr.msg_namelen = sizeof to;
    }
  }
  std::size_t send(std::size_t count, std::size_t size) override {
    fill(size, true);
    const int left = sendmmsg(fd, headers.data(), static_cast<unsigned>(count), MSG_DONTWAIT);
    return left > 0 ? static_cast<std::size_t>(left) : 0;
  }
  std::size_t receive(std::size_t& bytes) override {
    if (parts[0].iov_len != 65536) fill(65536, false);
    const int came = recvmmsg(fd, headers.data(), kBatch, MSG_DONTWAIT, nullptr);
    for (int i = 0; i < came; ++i) bytes += headers[static_cast<std::size_t>(i)].msg_len;
    return came > 0 ? static_cast<std::size_t>(came) : 0;
  }
};

// One call for one datagram: the fastest round trip that sockets give.
struct SingleWay final : Way {
  RawWay raw;
  std::size_t send(std::size_t, std::size_t size) override {
    const auto* to = reinterpret_cast<const sockaddr*>(&raw.to);
    return sendto(raw.fd, raw.memory.data(), size, MSG_DONTWAIT, to, sizeof raw.to) >= 0 ? 1 : 0;
  }
  std::size_t receive(std::size_t& bytes) override {
    const ssize_t came = recvfrom(raw.fd, raw.memory.data(), 65536, MSG_DONTWAIT, nullptr, nullptr);
    bytes += came > 0 ? static_cast<std::size_t>(came) : 0;
    return came >= 0 ? 1 : 0;
  }
};

struct Ends {
  int in, out;
};

void tell(int fd, const std::string& text) {
  char line[4096] = {};
  text.copy(line, sizeof line - 1);
  if (write(fd, line, sizeof line) != sizeof line) std::exit(1);
}

std::string hear(int fd) {
  char line[4096];
  if (read(fd, line, sizeof line) != sizeof line) std::exit(1);
  return line;
}

std::unique_ptr<Way> open_path(int rank, bool veth, bool segment, Ends ends) {
  UdpConfig config;
  config.rank = rank;
  config.size = 2;
  config.interfaces = veth ? "eth0" : "lo";
  config.networks = veth ? "10.0.0.0/8" : "127.0.0.0/8";
  config.segment = segment;
  auto way = std::make_unique<PathWay>();
  std::string why;
  way->path = UdpPath::open(config, why);
  if (!way->path) std::fprintf(stderr, "%s\n", why.c_str()), std::exit(1);
  tell(ends.out, way->path->card());
  if (way->path->add_peer(1 - rank, hear(ends.in), why) == 0)
    std::fprintf(stderr, "%s\n", why.c_str()), std::exit(1);
  way->path_to = 1 - rank;
  return way;
}

std::unique_ptr<Way> open_raw(int rank, bool veth, bool single, Ends ends) {
  auto owner = single ? std::unique_ptr<Way>(std::make_unique<SingleWay>()) : std::make_unique<RawWay>();
  RawWay* way = single ? &static_cast<SingleWay&>(*owner).raw : static_cast<RawWay*>(owner.get());
  way->fd = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  const std::string address = !veth ? "127.0.0.1" : rank == 0 ? "10.0.0.1" : "10.0.0.2";
  inet_pton(AF_INET, address.c_str(), &name.sin_addr);
  const int bytes = 4 << 20;
  setsockopt(way->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
  setsockopt(way->fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes);
  socklen_t length = sizeof name;
  if (bind(way->fd, reinterpret_cast<sockaddr*>(&name), length) != 0) std::exit(1);
  getsockname(way->fd, reinterpret_cast<sockaddr*>(&name), &length);
  tell(ends.out, std::string(reinterpret_cast<char*>(&name), sizeof name));
  char line[4096];
  if (read(ends.in, line, sizeof line) != sizeof line) std::exit(1);
  std::memcpy(&way->to, line, sizeof way->to);
  return owner;
}

void measure(Way& way, int rank, std::size_t size, const char* words, Ends ends) {
  std::size_t count = 0, bytes = 0;
  const auto start = Clock::now();
  if (rank == 0) {
    std::size_t sent = 0;
    while (since(start) < kSeconds) sent += way.send(kBatch, size);
    const double seconds = since(start);
    usleep(100000);
    tell(ends.out, "stop");
    count = std::strtoul(hear(ends.in).c_str(), nullptr, 10);
    std::printf("%-22s %6zu B  sent %8.0f /s %6.2f GB/s   came %8.0f /s %6.2f GB/s  (%.1f %% lost)\n", words,
                size, double(sent) / seconds, double(sent * size) / seconds / 1e9, double(count) / seconds,
                double(count * size) / seconds / 1e9, 100.0 * (1 - double(count) / double(sent)));
  } else {
    fcntl(ends.in, F_SETFL, O_NONBLOCK);
    char line[4096];
    while (read(ends.in, line, sizeof line) < 0)
      for (int i = 0; i < 50; ++i) count += way.receive(bytes);
    fcntl(ends.in, F_SETFL, 0);
    tell(ends.out, std::to_string(count));
  }
}

void bounce(Way& way, int rank, const char* words, Ends ends) {
  std::size_t bytes = 0;
  if (rank == 1) {
    for (int i = 0; i < kBounces; ++i) {
      while (way.receive(bytes) == 0) {
      }
      way.send(1, 8);
    }
    (void)hear(ends.in);
    return;
  }
  const auto start = Clock::now();
  for (int i = 0; i < kBounces; ++i) {
    way.send(1, 8);
    while (way.receive(bytes) == 0) {
    }
  }
  std::printf("%-22s      8 B  round trip %.2f us\n", words, since(start) / kBounces * 1e6);
  tell(ends.out, "done");
}

void run(int rank, bool veth, Ends ends) {
  for (const std::size_t size : {8, 256, 1472}) {
    measure(*open_raw(rank, veth, false, ends), rank, size, "raw sendmmsg/recvmmsg", ends);
    measure(*open_path(rank, veth, false, ends), rank, size, "path, plain", ends);
    measure(*open_path(rank, veth, true, ends), rank, size, "path, segments", ends);
  }
  for (int turn = 0; turn < 3; ++turn) {
    bounce(*open_raw(rank, veth, true, ends), rank, "raw sendto/recvfrom", ends);
    bounce(*open_raw(rank, veth, false, ends), rank, "raw sendmmsg/recvmmsg", ends);
    bounce(*open_path(rank, veth, false, ends), rank, "path, plain", ends);
    bounce(*open_path(rank, veth, true, ends), rank, "path, segments", ends);
  }
}

// Each process has its own network namespace; the veth pair ends with the last of them.
bool make_cable(int rank, Ends ends) {
  if (unshare(CLONE_NEWNET) != 0) return false;
  tell(ends.out, std::to_string(getpid()));
  const std::string other = hear(ends.in);
  const auto sh = [](const std::string& command) { return std::system(command.c_str()) == 0; };
  if (rank == 0) {
    if (!sh("ip link add eth0 type veth peer name eth0 netns " + other)) return false;
    tell(ends.out, "cable");
  } else {
    (void)hear(ends.in);
  }
  const bool good =
      sh("ip addr add 10.0.0." + std::to_string(rank + 1) + "/24 dev eth0") && sh("ip link set eth0 up");
  tell(ends.out, "up");
  (void)hear(ends.in);
  usleep(100000);
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  const bool veth = argc > 1 && std::string(argv[1]) == "--veth";
  int there[2], back[2];
  if (pipe(there) != 0 || pipe(back) != 0) return 1;
  std::printf("over %s\n", veth ? "veth" : "loopback");
  std::fflush(stdout);
  const pid_t child = fork();
  const int rank = child == 0 ? 1 : 0;
  const Ends ends = rank == 1 ? Ends{there[0], back[1]} : Ends{back[0], there[1]};
  if (veth && !make_cable(rank, ends)) {
    std::fprintf(stderr, "no network namespaces here: root and ip (iproute2) are needed\n");
    return 1;
  }
  run(rank, veth, ends);
  if (child != 0) waitpid(child, nullptr, 0);
  return 0;
}
