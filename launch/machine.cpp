// SPDX-License-Identifier: BSD-3-Clause
// launch/machine.cpp: see machine.hpp.
#include "machine.hpp"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>

#include "spec.hpp"
#include "text.hpp"

namespace herald::launch {

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

namespace {

bool is_local_address(const std::string& name) {
  in_addr v4{};
  in6_addr v6{};
  const bool is_v4 = inet_pton(AF_INET, name.c_str(), &v4) == 1;
  const bool is_v6 = !is_v4 && inet_pton(AF_INET6, name.c_str(), &v6) == 1;
  if (is_v4 && (ntohl(v4.s_addr) >> 24) == 127) return true;
  if (is_v6 && IN6_IS_ADDR_LOOPBACK(&v6)) return true;
  if (!is_v4 && !is_v6) return false;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return false;
  bool found = false;
  for (const ifaddrs* at = list; at && !found; at = at->ifa_next) {
    if (!at->ifa_addr) continue;
    if (is_v4 && at->ifa_addr->sa_family == AF_INET)
      found = reinterpret_cast<const sockaddr_in*>(at->ifa_addr)->sin_addr.s_addr == v4.s_addr;
    if (is_v6 && at->ifa_addr->sa_family == AF_INET6)
      found = !std::memcmp(&reinterpret_cast<const sockaddr_in6*>(at->ifa_addr)->sin6_addr, &v6, sizeof v6);
  }
  freeifaddrs(list);
  return found;
}

// The number of processors that one cgroup allows; 0: no limit.
double quota_of(const std::string& folder) {
  const auto both = split(first_line(folder + "/cpu.max"), " ");  // version 2: "max 100000" or "50000 100000"
  if (both.size() == 2 && both[0] != "max") {
    const auto quota = to_int(both[0]), period = to_int(both[1]);
    if (quota && period && *quota > 0 && *period > 0) return double(*quota) / double(*period);
  }
  const auto quota = to_int(first_line(folder + "/cpu.cfs_quota_us"));  // version 1
  const auto period = to_int(first_line(folder + "/cpu.cfs_period_us"));
  if (quota && period && *quota > 0 && *period > 0) return double(*quota) / double(*period);
  return 0;
}

double smallest_quota() {
  double least = 0;
  std::ifstream in("/proc/self/cgroup");
  std::string line;
  while (std::getline(in, line)) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string kind = line.substr(first + 1, second - first - 1);
    if (!kind.empty() && kind.find("cpu") == std::string::npos) continue;
    const std::string root = kind.empty() ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu";
    std::string path = line.substr(second + 1);
    for (;;) {
      const double quota = quota_of(root + (path == "/" ? "" : path));
      if (quota > 0 && (least == 0 || quota < least)) least = quota;
      if (path.size() <= 1) break;
      path.resize(path.rfind('/'));
      if (path.empty()) path = "/";
    }
  }
  return least;
}

enum class Found { no, yes, not_executable };

Found check_file(const std::string& path, const std::string& wdir) {
  const std::string full = path[0] == '/' || wdir.empty() ? path : wdir + "/" + path;
  struct stat info {};
  if (stat(full.c_str(), &info) != 0) return errno == EACCES ? Found::not_executable : Found::no;
  if (S_ISDIR(info.st_mode) || access(full.c_str(), X_OK) != 0) return Found::not_executable;
  return Found::yes;
}

}  // namespace

std::string host_name() {
  char name[256] = "localhost";
  if (gethostname(name, sizeof name - 1) != 0) return "localhost";
  return name;
}

bool is_this_host(const std::string& name) {
  const std::string here = host_name();
  const std::string short_here = here.substr(0, here.find('.'));
  return name == "localhost" || name == here || name == short_here || name == "localhost.localdomain" ||
         is_local_address(name);
}

std::vector<int> allowed_cpus() {
  std::vector<int> out;
  for (int most = 1024; most <= 1 << 18; most *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(most));
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(most));
    const bool fits = sched_getaffinity(0, bytes, set) == 0;
    for (int cpu = 0; fits && cpu < most; ++cpu)
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, set)) out.push_back(cpu);
    CPU_FREE(set);
    if (fits || errno != EINVAL) break;
  }
  if (out.empty()) out.push_back(0);
  return out;
}

std::vector<std::vector<int>> allowed_cores() {
  std::map<std::string, std::vector<int>> cores;
  std::vector<std::string> order;
  for (int cpu : allowed_cpus()) {
    std::string key = first_line(cat("/sys/devices/system/cpu/cpu", cpu, "/topology/thread_siblings_list"));
    if (key.empty()) key = cat(cpu);
    auto& core = cores[key];
    if (core.empty()) order.push_back(key);
    core.push_back(cpu);
  }
  std::vector<std::vector<int>> out;
  for (const std::string& key : order) out.push_back(cores[key]);
  return out;
}

int available_cores(bool hwthreads) {
  const int cores = static_cast<int>(hwthreads ? allowed_cpus().size() : allowed_cores().size());
  const double quota = smallest_quota();
  return std::max(1, quota > 0 ? std::min(cores, static_cast<int>(std::ceil(quota))) : cores);
}

Program find_program(const std::string& name, const std::string& wdir, const std::string& search_path) {
  bool not_executable = false;
  const auto try_path = [&](const std::string& path) {
    const Found found = check_file(path, wdir);
    not_executable |= found == Found::not_executable;
    return found == Found::yes;
  };
  if (name.find('/') != std::string::npos) {
    if (try_path(name)) return {name};
  } else {
    for (const std::string& folder : split(search_path, ":"))
      if (try_path(folder + "/" + name)) return {folder + "/" + name};
    if (try_path("./" + name)) return {"./" + name};
  }
  if (not_executable)
    return {{}, 126, cat("cannot run '", name, "': it is there but not an executable file (chmod +x?)")};
  const std::string where = wdir.empty() ? "the working directory" : wdir;
  if (name.find('/') != std::string::npos)
    return {{}, 127, cat("cannot find program '", name, "' (looked from ", where, ")")};
  return {{}, 127, cat("cannot find program '", name, "': neither in PATH nor in ", where)};
}

std::string read_file(const std::string& path, const std::string& what) {
  std::ifstream in(path, std::ios::binary);
  struct stat info {};
  if (!in || (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)))
    throw UsageError(cat(what, " ", path, ": cannot read it: ", std::strerror(in ? EISDIR : errno)));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string random_hex(int bytes) {
  std::vector<unsigned char> raw(static_cast<std::size_t>(bytes));
  std::size_t got = 0;
  while (got < raw.size()) {
    const ssize_t n = getrandom(raw.data() + got, raw.size() - got, 0);
    if (n < 0 && errno != EINTR) throw std::runtime_error(cat("getrandom: ", std::strerror(errno)));
    if (n > 0) got += static_cast<std::size_t>(n);
  }
  std::string out;
  for (unsigned char byte : raw) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

void remove_job_files(const std::string& job_id) {
  const std::string prefix = cat("herald-", getuid(), "-", job_id, "-");
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/dev/shm"), closedir);
  if (!folder) return;
  while (const dirent* entry = readdir(folder.get()))
    if (std::string_view(entry->d_name).starts_with(prefix)) unlinkat(dirfd(folder.get()), entry->d_name, 0);
}

}  // namespace herald::launch
