// SPDX-License-Identifier: BSD-3-Clause
// tools/names.cpp: `herald names`: keeps the names of ports (MPI_Publish_name) for jobs that are started
// apart. A question is one line: SECRET publish|lookup|unpublish NAME [PORT]; its answer is "ok", "ok PORT",
// "no" or a sentence. A line without the secret is refused, and its connection closed.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <sstream>
#include <vector>

#include "commands.hpp"
#include "path/random.hpp"
#include "path/udp/interfaces.hpp"

namespace herald::tools {
namespace {

constexpr std::size_t kLongestLine = 4096, kMostNames = 100'000, kMostClients = 1000;

struct NamesOptions {
  int port = 0;
  std::string address;
};

class NameServer {
 public:
  explicit NameServer(std::string secret) : secret_(std::move(secret)) {}

  std::string answer(const std::string& line, bool& stranger) {
    std::istringstream in(line);
    std::string secret, verb, name, port;
    in >> secret >> verb >> name >> port;
    stranger = secret != secret_;
    if (stranger) return "refused: wrong secret";
    const auto found = names_.find(name);
    if (verb == "lookup") return found == names_.end() ? "no" : "ok " + found->second;
    if (verb == "unpublish") {
      if (found == names_.end()) return "no";
      names_.erase(found);
      return "ok";
    }
    if (verb != "publish" || name.empty() || port.empty()) return "not understood";
    if (found != names_.end()) return "the name is published already";
    if (names_.size() >= kMostNames) return "too many names";
    names_.emplace(name, port);
    return "ok";
  }

 private:
  const std::string secret_;
  std::map<std::string, std::string> names_;
};

std::string system_error(const std::string& what) { return what + ": " + std::strerror(errno); }

// The first address that other hosts can reach.
std::string own_address() {
  std::vector<path::udp::Interface> chosen;
  std::string why;
  const auto all = path::udp::list_interfaces();
  if (path::udp::choose_interfaces(all, "", "", chosen, why))
    for (const auto& interface : chosen)
      for (const auto& prefix : interface.addresses)
        if (prefix.address.family == 4) return path::udp::to_text(prefix.address);
  return "127.0.0.1";
}

int open_listener(int& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(static_cast<std::uint16_t>(port));
  socklen_t length = sizeof name;
  if (fd < 0) fail("names", system_error("socket"));
  (void)::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&name), length) != 0 || ::listen(fd, 64) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &length) != 0)
    fail("names", system_error(fmt::format("port {}", port)));
  port = ntohs(name.sin_port);
  return fd;
}

struct Client {
  int fd;
  std::string in;
};

// False: the client is to be closed.
bool serve(NameServer& server, Client& client) {
  std::array<char, 2048> room;
  const ssize_t n = ::recv(client.fd, room.data(), room.size(), MSG_DONTWAIT);
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  if (n == 0) return false;
  client.in.append(room.data(), static_cast<std::size_t>(n));
  for (std::size_t end; (end = client.in.find('\n')) != std::string::npos;) {
    bool stranger = false;
    const std::string text = server.answer(client.in.substr(0, end), stranger) + "\n";
    client.in.erase(0, end + 1);
    if (::send(client.fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 || stranger)
      return false;
  }
  return client.in.size() <= kLongestLine;
}

void run(const NamesOptions& options) {
  int port = options.port;
  const int listener = open_listener(port);
  const std::string secret = fmt::format("{:016x}{:016x}", path::random_number(), path::random_number());
  fmt::print("export HERALD_NAMES={}:{}:{}\n", options.address.empty() ? own_address() : options.address,
             port, secret);
  (void)std::fflush(stdout);
  NameServer server(secret);
  std::vector<Client> clients;
  for (;;) {
    std::vector<pollfd> all{{listener, POLLIN, 0}};
    for (const Client& client : clients) all.push_back({client.fd, POLLIN, 0});
    if (::poll(all.data(), all.size(), -1) < 0 && errno != EINTR) fail("names", system_error("poll"));
    for (std::size_t i = clients.size(); i-- > 0;) {
      if (all[i + 1].revents == 0 || serve(server, clients[i])) continue;
      ::close(clients[i].fd);
      clients.erase(clients.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (all[0].revents == 0) continue;
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    if (clients.size() < kMostClients)
      clients.push_back({fd, {}});
    else
      ::close(fd);
  }
}

}  // namespace

void add_names(CLI::App& program) {
  auto options = std::make_shared<NamesOptions>();
  CLI::App* const command = program.add_subcommand(
      "names",
      "keep the names of MPI_Publish_name for jobs started apart; prints the setting HERALD_NAMES for them");
  command->add_option("--port", options->port, "TCP port; 0: any")->check(CLI::Range(0, 65535));
  command->add_option("--address", options->address, "address under which jobs reach this host");
  command->callback([options] { run(*options); });
}

}  // namespace herald::tools
