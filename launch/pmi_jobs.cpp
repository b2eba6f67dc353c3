// SPDX-License-Identifier: BSD-3-Clause
#include "pmi_jobs.hpp"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "text.hpp"

namespace herald::launch {
namespace {

constexpr std::size_t kMostSpawnText = 1 << 20;
constexpr char kLineEnd = '\x1f';  // in values of several lines

// One mcmd=spawn command: the values of its lines by key.
using SpawnCommand = std::map<std::string, std::string, std::less<>>;

std::vector<SpawnCommand> read_commands(std::string_view text) {
  std::vector<SpawnCommand> all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    const std::size_t sign = line.find('=');
    if (line.starts_with("mcmd=")) all.emplace_back();
    if (sign != std::string_view::npos && !all.empty())
      all.back()[std::string(line.substr(0, sign))] = std::string(line.substr(sign + 1));
  }
  return all;
}

std::string value_of(const SpawnCommand& command, const std::string& key) {
  const auto found = command.find(key);
  return found != command.end() ? found->second : "";
}

int number_of(const SpawnCommand& command, const std::string& key) {
  return static_cast<int>(to_int(value_of(command, key)).value_or(0));
}

// The info key `path`: directories where the program is looked for first.
std::string find_in_path(const std::string& name, const std::string& path) {
  if (name.find('/') != std::string::npos) return name;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const std::string candidate = path.substr(at, end - at) + "/" + name;
    at = end + 1;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return name;
}

void add_environment(std::vector<std::string>& words, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(kLineEnd, at), text.size());
    const std::string entry = text.substr(at, end - at);
    at = end + 1;
    const std::size_t sign = entry.find('=');
    if (sign == std::string::npos || sign == 0) continue;
    words.insert(words.end(), {"-env", entry.substr(0, sign), entry.substr(sign + 1)});
  }
}

void add_app(std::vector<std::string>& words, const SpawnCommand& command, bool& hosts_given) {
  std::string path;
  words.insert(words.end(), {"-n", value_of(command, "nprocs")});
  for (int i = 0; i < number_of(command, "info_num"); ++i) {
    const std::string key = value_of(command, cat("info_key_", i)),
                      value = value_of(command, cat("info_val_", i));
    const bool hosts = key == "host" || key == "hosts" || key == "hostfile" || key == "add-host";
    if (hosts && !hosts_given) words.insert(words.end(), {key == "hostfile" ? "-hostfile" : "-host", value});
    hosts_given = hosts_given || hosts;
    if (key == "wdir") words.insert(words.end(), {"-wdir", value});
    if (key == "env") add_environment(words, value);
    if (key == "path") path = value;
  }
  words.push_back(find_in_path(value_of(command, "execname"), path));
  for (int i = 1; i <= number_of(command, "argcnt"); ++i) words.push_back(value_of(command, cat("arg", i)));
}

}  // namespace

std::optional<std::string_view> pmi_field(std::string_view line, std::string_view key, bool rest_of_line) {
  std::size_t at = 0;
  while (at < line.size()) {
    if (line[at] == ' ') {
      ++at;
      continue;
    }
    const std::size_t end = std::min(line.find(' ', at), line.size());
    const std::string_view word = line.substr(at, end - at);
    if (word.size() > key.size() && word[key.size()] == '=' && word.starts_with(key))
      return rest_of_line ? line.substr(at + key.size() + 1) : word.substr(key.size() + 1);
    at = end;
  }
  return std::nullopt;
}

bool PmiJobs::takes(std::string_view line) {
  const std::string_view command = pmi_field(line, "cmd").value_or("");
  return line.starts_with("mcmd=") || command == "publish_name" || command == "lookup_name" ||
         command == "unpublish_name" || command == "spawn_state";
}

std::optional<std::string> PmiJobs::on_line(const Asker& asker, std::string_view line) {
  if (in_spawn(asker) || line.starts_with("mcmd=")) return on_spawn_line(asker, line);
  const std::string_view command = pmi_field(line, "cmd").value_or("");
  if (command == "spawn_state") {
    const auto id = pmi_field(line, "herald_id");
    const auto found = ended_.find(static_cast<int>((id ? to_int(*id) : std::nullopt).value_or(-1)));
    if (found == ended_.end()) return "cmd=spawn_state rc=0 ended=0\n";
    return cat("cmd=spawn_state rc=0 ended=1 code=", found->second, "\n");
  }
  const auto service = pmi_field(line, "service"), port = pmi_field(line, "port");
  const auto found = service ? names_.find(*service) : names_.end();
  if (command == "lookup_name") {
    if (found == names_.end()) return "cmd=lookup_result rc=-1 msg=service_not_found\n";
    return cat("cmd=lookup_result rc=0 port=", found->second, "\n");
  }
  if (command == "unpublish_name") {
    if (found == names_.end()) return "cmd=unpublish_result rc=-1 msg=service_not_found\n";
    names_.erase(found);
    return "cmd=unpublish_result rc=0 msg=success\n";
  }
  if (!service || !port || found != names_.end())
    return cat("cmd=publish_result rc=-1 msg=",
               found != names_.end() ? "published_already" : "no_service_or_port", "\n");
  names_.emplace(*service, *port);
  return "cmd=publish_result rc=0 msg=success\n";
}

// A request has as many commands as its line totspawns says.
std::optional<std::string> PmiJobs::on_spawn_line(const Asker& asker, std::string_view line) {
  std::string& text = spawning_[asker];
  text += cat(line, "\n");
  if (text.size() > kMostSpawnText) {
    spawning_.erase(asker);
    return not_started("the command lines are too long");
  }
  if (line != "endcmd") return std::nullopt;
  const std::vector<SpawnCommand> all = read_commands(text);
  const int total = all.empty() ? 1 : number_of(all[0], "totspawns");
  if (static_cast<int>(all.size()) < total) return std::nullopt;
  requests_.push_back({asker, next_id_++, std::move(text)});
  spawning_.erase(asker);
  return std::nullopt;
}

std::optional<SpawnRequest> PmiJobs::take_request() {
  if (requests_.empty()) return std::nullopt;
  SpawnRequest request = std::move(requests_.front());
  requests_.pop_front();
  return request;
}

std::string PmiJobs::started(int id) { return cat("cmd=spawn_result rc=0 herald_id=", id, "\n"); }

// Values of the protocol have no blanks.
std::string PmiJobs::not_started(std::string_view why) {
  std::string text(why);
  std::replace(text.begin(), text.end(), ' ', '_');
  return cat("cmd=spawn_result rc=-1 msg=", text, "\n");
}

SpawnWords spawn_words(std::string_view text) {
  SpawnWords out;
  bool hosts_given = false;
  for (const SpawnCommand& command : read_commands(text)) {
    if (!out.words.empty()) out.words.emplace_back(":");
    add_app(out.words, command, hosts_given);
    for (int i = 0; i < number_of(command, "preput_num"); ++i)
      if (value_of(command, cat("preput_key_", i)) == "PARENT_ROOT_PORT_NAME")
        out.port = value_of(command, cat("preput_val_", i));
    const std::string hosts = value_of(command, "default_hosts");
    const std::string universe = value_of(command, "default_universe"),
                      agent = value_of(command, "default_agent");
    if (!agent.empty()) out.words.insert(out.words.begin(), {"--rsh-agent", agent});
    if (!universe.empty()) out.words.insert(out.words.begin(), {"-usize", universe});
    if (!hosts_given && !hosts.empty()) out.words.insert(out.words.begin(), {"-host", hosts});
    hosts_given = hosts_given || !hosts.empty();
  }
  return out;
}

}  // namespace herald::launch
