// SPDX-License-Identifier: BSD-3-Clause
// boot/pmi1_jobs.cpp: names of ports and spawned jobs in PMI-1, as Hydra and our mpiexec understand them.
#include <cstdlib>

#include "boot/environment.hpp"
#include "boot/pmi1.hpp"
#include "boot/pmi1_text.hpp"

namespace herald::boot {
namespace {

// A word of the protocol: other names are written as digits.
std::string word_of(std::string_view service) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+@/";
  if (!service.empty() && service.size() < 200 && service.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string(service);
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "hex:";
  for (const char c : service.substr(0, 200)) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

bool has_newline(const SpawnApp& app) noexcept {
  bool found = app.command.find('\n') != std::string::npos;
  for (const std::string& each : app.arguments) found = found || each.find('\n') != std::string::npos;
  for (const auto& [key, value] : app.info) found = found || key.find('\n') != std::string::npos;
  return found;
}

}  // namespace

// Hydra answers with info=ok or with rc=0, according to its version.
bool Pmi1::is_good() const {
  return field(reply_, "rc").value_or("0") == "0" && field(reply_, "info").value_or("ok") == "ok";
}

Status Pmi1::publish(std::string_view service, std::string_view port) {
  const Status status = request("cmd=publish_name service=" + word_of(service) + " port=" + std::string(port),
                                "publish_result", LineChannel::kForever);
  if (status != Status::ok || is_good()) return status;
  return refuse(Status::bad_argument, "the launcher refuses the name: " + in_quotes(reply_));
}

Status Pmi1::lookup(std::string_view service, std::string& port) {
  const Status status =
      request("cmd=lookup_name service=" + word_of(service), "lookup_result", LineChannel::kForever);
  if (status != Status::ok) return status;
  const auto found = field(reply_, "port");
  if (!is_good() || !found) return refuse(Status::not_found, "nobody has published this name");
  port = *found;
  return Status::ok;
}

Status Pmi1::unpublish(std::string_view service) {
  const Status status =
      request("cmd=unpublish_name service=" + word_of(service), "unpublish_result", LineChannel::kForever);
  if (status != Status::ok || is_good()) return status;
  return refuse(Status::not_found, "nobody has published this name");
}

Status Pmi1::spawn(std::span<const SpawnApp> apps, std::string_view port) {
  std::string text;
  for (std::size_t i = 0; i < apps.size(); ++i) {
    if (has_newline(apps[i]))
      return refuse(Status::unsupported, "PMI-1 cannot carry arguments with several lines");
    text += (i == 0 ? "" : "\n") + spawn_text(apps[i], i + 1, apps.size(), port);
  }
  const Status status = request(text, "spawn_result", LineChannel::kForever);
  if (status != Status::ok) return status;
  spawn_id_ = field(reply_, "herald_id").value_or("");
  if (is_good()) return Status::ok;
  std::string why(field(reply_, "msg").value_or(reply_));
  for (char& c : why)
    if (c == '_') c = ' ';
  return refuse(Status::not_found, std::move(why));
}

bool Pmi1::has_spawn_ended() {
  if (spawn_id_.empty() || !serving_) return false;
  if (request("cmd=spawn_state herald_id=" + spawn_id_, "spawn_state", LineChannel::kForever) != Status::ok)
    return true;
  if (field(reply_, "ended").value_or("0") == "0") return false;
  error_ = "the new job ended before it called MPI_Init; exit code " +
           std::string(field(reply_, "code").value_or("?"));
  return true;
}

// Hydra keeps the port in the store of the new job.
std::string Pmi1::parent_port() {
  std::string port = Boot::parent_port();
  const char* const spawned = std::getenv("PMI_SPAWNED");
  if (port.empty() && spawned != nullptr && *spawned == '1') (void)get_raw(kParentKey, port);
  return port;
}

}  // namespace herald::boot
