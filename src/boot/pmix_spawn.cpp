// SPDX-License-Identifier: BSD-3-Clause
#include "boot/pmix_spawn.hpp"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <deque>

#include "boot/environment.hpp"
#include "boot/rank_pid.hpp"

extern char** environ;

namespace herald::boot {
namespace {

constexpr std::int64_t kSilentSeconds = 180;

std::int64_t now_s() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

// The value of an info key; null if it is absent.
const std::string* value_of(const SpawnApp& app, std::string_view key) noexcept {
  for (const auto& [name, value] : app.info)
    if (name == key) return &value;
  return nullptr;
}

bool is_program(const std::string& file) noexcept {
  struct stat info {};
  return ::stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(file.c_str(), X_OK) == 0;
}

// The first directory of the list that has the program.
std::string find_in(std::string_view directories, const std::string& name) {
  for (std::size_t at = 0; at < directories.size();) {
    const std::size_t end = std::min(directories.find(':', at), directories.size());
    const std::string file = std::string(directories.substr(at, end - at)) + "/" + name;
    if (is_program(file)) return file;
    at = end + 1;
  }
  return {};
}

// A command with everything that pmix::App points to.
struct Command {
  std::string program, directory;
  std::vector<std::string> arguments, variables;
  std::vector<char*> argument_list, variable_list;
  std::vector<pmix::Info> info;
  pmix::App app{};

  void finish(int processes) {
    for (auto [texts, list] : {std::pair{&arguments, &argument_list}, {&variables, &variable_list}}) {
      for (std::string& text : *texts) list->push_back(text.data());
      list->push_back(nullptr);
    }
    app.command = program.data();
    app.arguments = argument_list.data();
    app.environment = variable_list.data();
    app.directory = directory.data();
    app.processes = processes;
    app.info = info.empty() ? nullptr : info.data();
    app.info_count = info.size();
  }
};

std::string current_directory() {
  char here[PATH_MAX];
  return ::getcwd(here, sizeof here) != nullptr ? here : "/";
}

std::string directory_of(const SpawnApp& app) {
  const std::string* given = value_of(app, "wdir");
  return given != nullptr ? *given : current_directory();
}

void add_hosts(const SpawnApp& app, std::vector<pmix::Info>& info) {
  for (const auto& [ours, theirs] : {std::pair{"host", pmix::kHost},
                                     {"hosts", pmix::kHost},
                                     {"hostfile", pmix::kHostFile},
                                     {"add-host", pmix::kAddHost}})
    if (const std::string* value = value_of(app, ours))
      info.push_back(pmix::make_text(theirs, value->c_str()));
}

bool names_hosts(const SpawnApp& app) noexcept {
  return std::any_of(app.info.begin(), app.info.end(), [](const auto& each) {
    return each.first == "host" || each.first == "hosts" || each.first == "hostfile" ||
           each.first == "add-host";
  });
}

// The names in the comma-delimited list of the engine.
bool is_listed(std::string_view list, std::string_view job) noexcept {
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    if (list.substr(at, end - at) == job) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace

std::string program_of(const SpawnApp& app, std::string& why) {
  std::vector<std::string> candidates;
  if (app.command.find('/') == std::string::npos) {
    const std::string* path = value_of(app, "path");
    const char* const search = std::getenv("PATH");
    if (path != nullptr) candidates.push_back(find_in(*path, app.command));
    candidates.push_back(find_in(search != nullptr ? search : "/bin:/usr/bin", app.command));
  } else if (app.command.front() == '/') {
    candidates.push_back(app.command);
  } else {
    candidates.push_back(directory_of(app) + "/" + app.command);
    candidates.push_back(current_directory() + "/" + app.command);
  }
  for (const std::string& file : candidates)
    if (is_program(file)) return file;
  if (names_hosts(app)) return app.command;
  why = "there is no program of this name that this process may execute";
  return {};
}

std::vector<std::string> variables_of(const SpawnApp& app, std::string_view port, char** environment) {
  std::vector<std::string> variables;
  const std::string own[] = {std::string{kParentPort} + "=", std::string{kRankPid} + "="};
  for (char** entry = environment; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const bool is_ours = text.starts_with(own[0]) || text.starts_with(own[1]);
    if (!is_ours && (text.starts_with("HERALD_") || text.starts_with("LD_LIBRARY_PATH=")))
      variables.emplace_back(text);
  }
  variables.push_back(own[0] + std::string{port});
  const std::string* given = value_of(app, "env");
  for (std::size_t at = 0; given != nullptr && at < given->size();) {
    const std::size_t end = std::min(given->find('\n', at), given->size());
    const std::string line = given->substr(at, end - at);
    at = end + 1;
    const std::size_t sign = line.find('=');
    if (sign == std::string::npos || sign == 0) continue;
    std::erase_if(variables,
                  [&](const std::string& each) { return each.starts_with(line.substr(0, sign + 1)); });
    variables.push_back(line);
  }
  return variables;
}

// Programs are looked for here first: Open MPI's mpirun ends all its jobs when there is none. It also hangs
// where slots are missing, so processes may share processors, as under Herald's mpiexec.
Status PmixSpawn::spawn(std::span<const SpawnApp> apps, std::string_view port, std::string& why) {
  job_.clear();
  std::deque<Command> commands;  // they stay where they are
  std::vector<pmix::App> list;
  for (const SpawnApp& app : apps) {
    Command& command = commands.emplace_back();
    command.program = program_of(app, why);
    if (command.program.empty()) return Status::not_found;
    command.directory = directory_of(app);
    command.arguments = app.arguments;
    command.arguments.insert(command.arguments.begin(), app.command);
    command.variables = variables_of(app, port, environ);
    add_hosts(app, command.info);
    command.finish(app.count);
    list.push_back(command.app);
  }
  const pmix::Info share = pmix::make_text(pmix::kMapBy, ":OVERSUBSCRIBE");
  char job[pmix::kLongestNamespace + 1] = {};
  const pmix::Code code = library_.spawn(&share, 1, list.data(), list.size(), job);
  if (code == pmix::kSuccess) {
    job_ = job;
    started_s_ = now_s();
    return Status::ok;
  }
  if (code == pmix::kErrNotSupported || code == pmix::kErrUnreach) {
    why = "the launcher starts no further processes (PMIx_Spawn: " + pmix::text_of(library_, code) +
          "): start the job with Herald's mpiexec, Open MPI's mpirun or Hydra";
    return Status::unsupported;
  }
  why = "the launcher could not start the program (PMIx_Spawn: " + pmix::text_of(library_, code) + ")";
  return Status::not_found;
}

bool PmixSpawn::has_ended(std::string& why) {
  if (job_.empty()) return false;
  if (engine_tells_) {
    char key[sizeof pmix::kQueryNamespaces];
    std::copy(std::begin(pmix::kQueryNamespaces), std::end(pmix::kQueryNamespaces), key);
    char* keys[] = {key, nullptr};
    pmix::Query query{keys, nullptr, 0};
    pmix::Info* found = nullptr;
    std::size_t count = 0;
    const pmix::Code code = library_.query(&query, 1, &found, &count);
    engine_tells_ = code == pmix::kSuccess && count == 1 && found->value.type == pmix::Type::string &&
                    found->value.data.string != nullptr;
    const bool runs = !engine_tells_ || is_listed(found->value.data.string, job_);
    if (engine_tells_) std::free(found->value.data.string);
    std::free(found);
    if (runs) return false;
    why = "the new job ended before it called MPI_Init";
    return true;
  }
  if (now_s() - started_s_ < kSilentSeconds) return false;
  why = "no process of the new job called MPI_Init within " + std::to_string(kSilentSeconds) +
        " s; were they built with Herald's compiler wrappers?";
  return true;
}

}  // namespace herald::boot
