// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/dyn/port.hpp"

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "engine/clock.hpp"
#include "mpi/core/info.hpp"
#include "mpi/core/request.hpp"
#include "path/random.hpp"

namespace herald::mpi {
namespace {

constexpr const char* kVersion = "herald1";
constexpr std::size_t kMostAddresses = 8;
constexpr Duration kGreetingLimit =
    milliseconds(5'000);                                 // for a connection to prove that it knows the secret
constexpr Duration kConnectLimit = milliseconds(4'000);  // for one address to answer

std::vector<std::string> split(const std::string& text, char end) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, end);) words.push_back(word);
  return words;
}

}  // namespace

std::string write_port(const PortName& name) {
  char secret[33];
  std::snprintf(secret, sizeof secret, "%016llx%016llx", static_cast<unsigned long long>(name.secret[0]),
                static_cast<unsigned long long>(name.secret[1]));
  std::string text = std::string(kVersion) + "#" + std::to_string(name.port) + "#" + secret + "#";
  for (std::size_t i = 0; i < name.addresses.size(); ++i) text += (i == 0 ? "" : ",") + name.addresses[i];
  return text;
}

bool read_port(const std::string& text, PortName& name) {
  const std::vector<std::string> words = split(text, '#');
  if (words.size() != 4 || words[0] != kVersion || words[2].size() != 32 ||
      words[2].find_first_not_of("0123456789abcdef") != std::string::npos)
    return false;
  const long port = std::strtol(words[1].c_str(), nullptr, 10);
  if (port < 1 || port > 65535) return false;
  name.port = static_cast<std::uint16_t>(port);
  name.secret = {std::strtoull(words[2].substr(0, 16).c_str(), nullptr, 16),
                 std::strtoull(words[2].substr(16).c_str(), nullptr, 16)};
  name.addresses = split(words[3], ',');
  return !name.addresses.empty();
}

std::unique_ptr<Port> Port::open(Call& call, std::string& why) noexcept {
  if (!runtime().open_foreign(call, why)) return nullptr;
  auto port = std::make_unique<Port>();
  path::Ports ports;
  (void)path::read_ports(runtime().knobs().ports, ports);
  port->listener_ = path::Listener::open(ports, why);
  if (port->listener_ == nullptr) return nullptr;
  PortName& name = port->name_;
  name.port = port->listener_->port();
  name.secret = {path::random_number(), path::random_number()};
  name.addresses = runtime().engine().foreign().addresses();
  if (name.addresses.size() > kMostAddresses) name.addresses.resize(kMostAddresses);
  port->text_ = write_port(name);
  return port;
}

std::unique_ptr<StreamChannel> Port::poll() noexcept {
  using State = StreamChannel::State;
  while (auto stream = listener_->accept())
    greeting_.push_back(
        std::make_unique<StreamChannel>(std::move(stream), StreamChannel::Side::accepting, name_.secret));
  const Instant now = engine::read_clock();
  for (std::size_t i = 0; i < greeting_.size();) {
    const State state = greeting_[i]->turn();
    if (state == State::greeting || state == State::proving) {
      if (now - greeting_[i]->since() <= kGreetingLimit) {
        ++i;
        continue;
      }
    }
    auto channel = std::move(greeting_[i]);
    greeting_.erase(greeting_.begin() + static_cast<std::ptrdiff_t>(i));
    if (state == State::open) return channel;
    runtime().engine().foreign().count_stranger();
  }
  return nullptr;
}

std::unique_ptr<StreamChannel> connect_to_port(const std::string& text, Duration limit, int& error,
                                               std::string& why) noexcept {
  using State = StreamChannel::State;
  PortName name;
  error = MPI_ERR_PORT;
  if (!read_port(text, name)) {
    why = "argument 1 (port_name) is \"" + text.substr(0, 80) +
          "\", which is no port: give the text that MPI_Open_port or MPI_Lookup_name returned";
    return nullptr;
  }
  const engine::Engine::Polling polling(runtime().engine());
  const Instant last = engine::read_clock() + limit;
  for (const std::string& address : name.addresses) {
    auto stream = path::Stream::connect(address, name.port, why);
    if (stream == nullptr) continue;
    auto channel =
        std::make_unique<StreamChannel>(std::move(stream), StreamChannel::Side::connecting, name.secret);
    const Instant begin = engine::read_clock();
    bool late = false;
    wait_until([&] {
      const State state = channel->turn();
      const Instant now = engine::read_clock();
      late = now > last || (channel->is_connecting() && now - begin > kConnectLimit);
      return late || (state != State::greeting && state != State::proving);
    });
    if (channel->state() == State::open) return channel;
    why = channel->state() == State::refused  ? "it is not a port of Herald, or was opened again since"
          : late && !channel->is_connecting() ? "nobody accepts the connection (info key timeout)"
          : late                              ? "no answer"
                                              : channel->error();
    why = "no connection to the port at " + address + ": " + why +
          "; is it still open, and does its owner call MPI_Comm_accept?";
    if (engine::read_clock() > last) break;
  }
  return nullptr;
}

Duration time_limit(const Info* info, Duration otherwise) noexcept {
  const std::string* const value = info != nullptr ? info_value(*info, "timeout") : nullptr;
  const double seconds = value != nullptr ? std::strtod(value->c_str(), nullptr) : 0;
  return seconds > 0 ? Duration{static_cast<std::int64_t>(seconds * 1e9)} : otherwise;
}

}  // namespace herald::mpi
