// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/dyn/name_server.hpp"

#include "engine/clock.hpp"
#include "mpi/core/request.hpp"
#include "mpi/dyn/spawn.hpp"
#include "path/stream/stream.hpp"

namespace herald::mpi {
namespace {

constexpr Duration kAnswerLimit = milliseconds(10'000);

// HERALD_NAMES: ADDRESS:PORT:SECRET, as `herald names` prints it. A question and its answer are a line each:
// the secret, a verb, the name in hexadecimal digits, the port; "ok PORT", "no" or "refused".
Status ask(const std::string& verb, const std::string& service, const std::string& port, std::string& answer,
           std::string& why) noexcept {
  const std::string& server = runtime().knobs().names;
  const std::size_t secret_at = server.rfind(':');
  const std::size_t port_at = secret_at == std::string::npos ? secret_at : server.rfind(':', secret_at - 1);
  if (port_at == std::string::npos || port_at == 0) {
    why = "HERALD_NAMES=" + server + " is not what \"herald names\" prints: ADDRESS:PORT:SECRET";
    return Status::engine_broken;
  }
  const int number = std::atoi(server.c_str() + port_at + 1);
  const auto stream =
      path::Stream::connect(server.substr(0, port_at), static_cast<std::uint16_t>(number), why);
  if (stream == nullptr) return Status::engine_broken;
  std::string digits;
  for (const char c : service) {
    constexpr const char* kDigits = "0123456789abcdef";
    digits += kDigits[static_cast<unsigned char>(c) >> 4];
    digits += kDigits[static_cast<unsigned char>(c) & 15];
  }
  stream->write(server.substr(secret_at + 1) + " " + verb + " " + digits + (port.empty() ? "" : " " + port) +
                "\n");
  const engine::Engine::Polling polling(runtime().engine());
  const Instant limit = engine::read_clock() + kAnswerLimit;
  const auto has_line = [&] { return stream->arrived().find('\n') != std::string::npos; };
  wait_until([&] {
    stream->turn();
    return has_line() || stream->has_failed() || engine::read_clock() > limit;
  });
  if (!has_line()) {
    why = "the name server of HERALD_NAMES=" + server.substr(0, secret_at) +
          " does not answer: " + (stream->has_failed() ? stream->error() : "timeout") +
          "; is \"herald names\" running there?";
    return Status::engine_broken;
  }
  answer = stream->arrived().substr(0, stream->arrived().find('\n'));
  if (answer.starts_with("ok")) return Status::ok;
  why = answer == "no" ? "nobody has published this name" : "the name server says: " + answer;
  return answer == "no" ? Status::not_found : Status::bad_argument;
}

bool uses_server() noexcept {
  if (!runtime().knobs().names.empty()) return true;
  wait_for_launcher();
  return false;
}

Status of_launcher(Status status, std::string& why) noexcept {
  if (status != Status::ok) why = runtime().boot().last_error();
  return status;
}

}  // namespace

Status publish(const std::string& service, const std::string& port, std::string& why) noexcept {
  std::string answer;
  if (uses_server()) return ask("publish", service, port, answer, why);
  return of_launcher(runtime().boot().publish(service, port), why);
}

Status lookup(const std::string& service, std::string& port, std::string& why) noexcept {
  if (!uses_server()) return of_launcher(runtime().boot().lookup(service, port), why);
  std::string answer;
  const Status status = ask("lookup", service, "", answer, why);
  if (status == Status::ok) port = answer.substr(std::min<std::size_t>(3, answer.size()));
  return status;
}

Status unpublish(const std::string& service, std::string& why) noexcept {
  std::string answer;
  if (uses_server()) return ask("unpublish", service, "", answer, why);
  return of_launcher(runtime().boot().unpublish(service), why);
}

}  // namespace herald::mpi
