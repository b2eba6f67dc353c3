// SPDX-License-Identifier: BSD-3-Clause
#include "watch/remote.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

#include "watch/view_json.hpp"

namespace herald::watch {
namespace {

constexpr char kLink[] = "--herald-link", kProxy[] = "--herald-proxy", kJob[] = "HERALD_JOB_ID=";
constexpr std::size_t kMostText = std::size_t{64} << 20;

std::vector<std::string> words_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

struct LinkProcess {
  std::string job;
  std::vector<std::string> words;  // mpiexec --herald-link HOST SHELL... HOST COMMAND
};

std::vector<LinkProcess> find_links() {
  std::vector<LinkProcess> out;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), closedir);
  while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    const std::string process = std::string("/proc/") + entry->d_name;
    LinkProcess link{{}, words_of(process + "/cmdline")};
    if (link.words.size() < 5 || link.words[1] != kLink || link.words.back() == kProxy) continue;
    for (const std::string& variable : words_of(process + "/environ"))
      if (variable.rfind(kJob, 0) == 0) link.job = variable.substr(sizeof kJob - 1);
    if (!link.job.empty()) out.push_back(std::move(link));
  }
  return out;
}

// "'/folder/mpiexec' --herald-proxy" -> "/folder/"; quotes stay as the shell wants them.
std::string folder_of(const std::string& command) {
  const std::size_t slash = command.rfind("/mpiexec");
  return slash == std::string::npos || command.empty() ? "" : command.substr(1, slash);
}

std::int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

// The child of the remote shell. It dies with us.
int start(const std::vector<std::string>& words, int& to, int& from) {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0) return -1;
  if (pipe2(out, O_CLOEXEC) != 0) {
    close(in[0]);
    close(in[1]);
    return -1;
  }
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);  // Ctrl-C is for us
    dup2(in[0], 0);
    dup2(out[1], 1);
    if (const int null = open("/dev/null", O_WRONLY); null >= 0) dup2(null, 2);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  to = in[1];
  from = out[0];
  return pid;
}

}  // namespace

std::vector<RemoteHost> remote_hosts(const std::string& job) {
  std::vector<RemoteHost> out;
  for (const LinkProcess& link : find_links())
    if (link.job == job)
      out.push_back(
          {link.words[2], {link.words.begin() + 3, link.words.end() - 1}, folder_of(link.words.back())});
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

std::vector<std::string> linked_jobs() {
  std::set<std::string> jobs;
  for (const LinkProcess& link : find_links()) jobs.insert(link.job);
  return {jobs.begin(), jobs.end()};
}

Feed::Feed(const RemoteHost& host, const std::string& job, int levels) : host_(host.name) {
  std::vector<std::string> words = host.shell;
  words.push_back("'" + host.folder + "herald' top --feed " + std::to_string(levels) + " " + job);
  signal(SIGPIPE, SIG_IGN);
  pid_ = start(words, to_, from_);
}

Feed::~Feed() { close_all(); }
Feed::Feed(Feed&& other) noexcept
    : host_(std::move(other.host_)),
      pid_(std::exchange(other.pid_, -1)),
      to_(std::exchange(other.to_, -1)),
      from_(std::exchange(other.from_, -1)),
      text_(std::move(other.text_)) {}
Feed& Feed::operator=(Feed&& other) noexcept {
  std::swap(host_, other.host_);
  std::swap(pid_, other.pid_);
  std::swap(to_, other.to_);
  std::swap(from_, other.from_);
  std::swap(text_, other.text_);
  return *this;
}

void Feed::close_all() {
  if (to_ >= 0) close(to_);
  if (from_ >= 0) close(from_);
  to_ = from_ = -1;
  if (pid_ <= 0) return;
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void Feed::request() {
  if (to_ >= 0 && write(to_, "\n", 1) != 1) close_all();
}

bool Feed::take(int milliseconds, std::vector<RankView>& views) {
  const std::int64_t limit = now_ms() + milliseconds;
  while (is_open()) {
    if (const std::size_t end = text_.find('\n'); end != std::string::npos) {
      const std::string line = text_.substr(0, end);
      text_.erase(0, end + 1);
      if (from_line(line, views)) return true;
      continue;  // words of a login script
    }
    pollfd wait{from_, POLLIN, 0};
    const int ready = poll(&wait, 1, static_cast<int>(std::max<std::int64_t>(0, limit - now_ms())));
    if (ready == 0) return false;
    char buffer[65536];
    const ssize_t n = ready < 0 ? -1 : read(from_, buffer, sizeof buffer);
    if (n <= 0 || text_.size() > kMostText)
      close_all();
    else
      text_.append(buffer, static_cast<std::size_t>(n));
  }
  return false;
}

}  // namespace herald::watch
