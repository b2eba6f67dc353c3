// SPDX-License-Identifier: BSD-3-Clause
#include "spawned.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "text.hpp"

namespace herald::launch {
namespace {

constexpr int kEndTries = 150;  // of 20 ms: for jobs that are still running when we end

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// The environment of mpiexec, with the descriptor of the report.
std::vector<std::string> environment_with(int fd) {
  std::vector<std::string> out;
  for (char** entry = environ; entry && *entry; ++entry)
    if (std::strncmp(*entry, kSpawnFd, std::strlen(kSpawnFd)) != 0) out.emplace_back(*entry);
  out.push_back(cat(kSpawnFd, "=", fd));
  return out;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

SpawnedJobs::~SpawnedJobs() {
  signal(SIGTERM);
  for (int i = 0; i < kEndTries && alive() != 0; ++i) {
    usleep(20'000);
    (void)take_exits(nullptr);
  }
  signal(SIGKILL);
}

std::string SpawnedJobs::start(const SpawnRequest& request, const Inherited& inherited) {
  int text[2], report[2];
  if (pipe2(text, O_CLOEXEC) != 0) return std::strerror(errno);
  if (pipe2(report, O_CLOEXEC) != 0) {
    close(text[0]);
    close(text[1]);
    return std::strerror(errno);
  }
  Start start;
  start.pmi = report[1];
  start.pmi_as = report[1] + 1;
  std::vector<std::string> argv{"mpiexec", kSpawnOption}, env = environment_with(start.pmi_as);
  const std::vector<char*> arguments = pointers_to(argv), environment = pointers_to(env);
  start.path = "/proc/self/exe";
  start.argv = start.shell_argv = arguments.data();
  start.envp = environment.data();
  start.in = text[0];
  start.out = 1;
  start.err = 2;
  const Started started = start_process(start, inherited);
  close(text[0]);
  close(report[1]);
  const bool written = started.pid > 0 && write_all(text[1], request.text);
  close(text[1]);
  if (started.pid <= 0) {
    close(report[0]);
    return cat("mpiexec cannot start another mpiexec: ", std::strerror(started.error));
  }
  (void)written;  // the new mpiexec ends, and its report with it
  fcntl(report[0], F_SETFL, O_NONBLOCK);
  all_.push_back({request.asker, request.id, started.pid, report[0]});
  poller_.watch(report[0], EPOLLIN, Tag::spawned, request.id);
  return "";
}

void SpawnedJobs::start_requested(PmiServer& server, const JobPlan& plan, bool ending,
                                  const Inherited& inherited) {
  while (auto request = server.jobs().take_request()) {
    std::string list;
    for (const std::string& host : plan.hosts) list += cat(list.empty() ? "" : ",", host);
    if (!list.empty()) request->text += cat("default_hosts=", list, "\n");
    if (plan.hosts.empty() && plan.universe > plan.size)
      request->text += cat("default_universe=", plan.universe, "\n");
    if (!plan.links.rsh_agent.empty()) request->text += cat("default_agent=", plan.links.rsh_agent, "\n");
    const std::string why = ending ? "the job is being ended" : start(*request, inherited);
    if (!why.empty()) server.answer(request->asker, PmiJobs::not_started(why));
  }
}

void SpawnedJobs::on_report(PmiServer& server, int id) {
  for (Spawned& each : all_) {
    if (each.id != id || each.pipe < 0) continue;
    char word = 0;
    each.started = read(each.pipe, &word, 1) == 1;
    poller_.unwatch(each.pipe);
    close(each.pipe);
    each.pipe = -1;
    server.answer(each.asker, each.started ? PmiJobs::started(id)
                                           : PmiJobs::not_started("the program could not be started"));
  }
}

int SpawnedJobs::take_exits(PmiJobs* jobs) {
  int failed = 0;
  for (Spawned& each : all_) {
    int status = 0;
    if (each.pid <= 0 || waitpid(each.pid, &status, WNOHANG) != each.pid) continue;
    each.pid = -1;
    const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (jobs != nullptr) jobs->on_ended(each.id, code);
    if (each.started && failed == 0) failed = code;
  }
  return failed;
}

int SpawnedJobs::alive() const {
  int count = 0;
  for (const Spawned& each : all_) count += each.pid > 0 ? 1 : 0;
  return count;
}

void SpawnedJobs::signal(int number) const {
  for (const Spawned& each : all_)
    if (each.pid > 0) kill(each.pid, number);
}

void report_spawned() {
  const char* const text = std::getenv(kSpawnFd);
  const auto fd = text != nullptr ? to_int(text) : std::nullopt;
  if (!fd) return;
  (void)!write(static_cast<int>(*fd), "s", 1);
  close(static_cast<int>(*fd));
  unsetenv(kSpawnFd);
}

SpawnWords read_spawn_words() {
  std::string text;
  std::array<char, 4096> room;
  for (ssize_t n = 1; n != 0;) {
    n = read(0, room.data(), room.size());
    if (n < 0 && errno != EINTR) break;
    if (n > 0) text.append(room.data(), static_cast<std::size_t>(n));
  }
  const int null = open("/dev/null", O_RDONLY);
  if (null > 0) {
    dup2(null, 0);
    close(null);
  }
  if (const char* const fd = std::getenv(kSpawnFd)) fcntl(std::atoi(fd), F_SETFD, FD_CLOEXEC);
  return spawn_words(text);
}

}  // namespace herald::launch
