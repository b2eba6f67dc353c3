// SPDX-License-Identifier: BSD-3-Clause
// tools/doctor/facts.cpp: properties of this host.
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "build_facts.hpp"
#include "doctor/doctor.hpp"
#include "path/udp/interfaces.hpp"

namespace herald::tools::doctor {
namespace {

namespace udp = path::udp;

std::string first_line(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

json interfaces() {
  constexpr const char* kKinds[] = {"plain", "secondary", "loopback"};
  json list = json::array();
  for (const udp::Interface& each : udp::list_interfaces()) {
    json addresses = json::array();
    for (const udp::Prefix& prefix : each.addresses)
      addresses.push_back(udp::to_text(prefix.address) + "/" + std::to_string(prefix.bits));
    list.push_back({{"name", each.name},
                    {"up", each.up},
                    {"kind", kKinds[static_cast<std::size_t>(each.kind)]},
                    {"mtu", each.mtu},
                    {"mbit", each.mbit},
                    {"duplex", first_line("/sys/class/net/" + each.name + "/duplex")},
                    {"multicast", each.multicast},
                    {"addresses", addresses}});
  }
  return list;
}

// The buffer that a socket gets, in bytes; a privileged process may exceed the limits.
json socket_bytes(std::int64_t wanted) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  json given = {{"wanted", wanted}};
  if (fd < 0) return given;
  const int value = static_cast<int>(wanted);
  const auto request = [&](int force, int plain) {
    if (::setsockopt(fd, SOL_SOCKET, force, &value, sizeof value) != 0)
      (void)::setsockopt(fd, SOL_SOCKET, plain, &value, sizeof value);
    int got = 0;
    socklen_t length = sizeof got;
    (void)::getsockopt(fd, SOL_SOCKET, plain, &got, &length);
    return got / 2;  // Linux doubles the value
  };
  given["receive"] = request(SO_RCVBUFFORCE, SO_RCVBUF);
  given["send"] = request(SO_SNDBUFFORCE, SO_SNDBUF);
  ::close(fd);
  return given;
}

json shared_memory() {
  struct statvfs system {};
  if (::statvfs("/dev/shm", &system) != 0) return {{"there", false}};
  const std::uint64_t block = system.f_frsize;
  return {{"there", true},
          {"writable", ::access("/dev/shm", W_OK) == 0},
          {"bytes", block * system.f_blocks},
          {"free", block * system.f_bavail}};
}

// Two children test whether a process may read the memory of another one that allows it, as ranks do.
bool cma_works() {
  long value = 42;
  int ready[2];
  if (::pipe(ready) != 0) return false;
  const pid_t owner = ::fork();
  if (owner == 0) {
#ifdef PR_SET_PTRACER
    ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
    ::prctl(PR_SET_PDEATHSIG, 9);
    (void)!::write(ready[1], "x", 1);
    ::pause();
    ::_exit(0);
  }
  char byte;
  ::close(ready[1]);
  (void)!::read(ready[0], &byte, 1);
  ::close(ready[0]);
  const pid_t reader = owner < 0 ? -1 : ::fork();
  if (reader == 0) {
    long copy = 0;
    iovec here{&copy, sizeof copy}, there{&value, sizeof value};
    const bool same = ::process_vm_readv(owner, &here, 1, &there, 1, 0) == sizeof copy && copy == 42;
    ::_exit(same ? 0 : 1);
  }
  int status = 1;
  if (reader > 0) ::waitpid(reader, &status, 0);
  if (owner > 0) {
    ::kill(owner, SIGKILL);
    ::waitpid(owner, nullptr, 0);
  }
  return reader > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::int64_t limit(decltype(RLIMIT_NOFILE) which) {
  rlimit value{};
  if (::getrlimit(which, &value) != 0) return 0;
  return value.rlim_cur == RLIM_INFINITY ? -1 : static_cast<std::int64_t>(value.rlim_cur);
}

json launchers() {
  json found = json::array();
  const char* path = std::getenv("PATH");
  for (const char* name : {"mpiexec", "mpirun", "mpirun.openmpi", "mpiexec.hydra", "srun", "prterun"}) {
    std::istringstream folders(path != nullptr ? path : "");
    for (std::string folder; std::getline(folders, folder, ':');)
      if (::access((folder + "/" + name).c_str(), X_OK) == 0) {
        found.push_back(name);
        break;
      }
  }
  return found;
}

}  // namespace

std::int64_t count_damaged() {
  std::int64_t count = 0;
  std::ifstream in("/proc/net/snmp");
  std::string names, values;
  while (std::getline(in, names) && std::getline(in, values)) {
    std::istringstream name_words(names), value_words(values);
    for (std::string name, value; name_words >> name && value_words >> value;)
      if (names.rfind("Udp:", 0) == 0 && name == "InCsumErrors") count += std::atoll(value.c_str());
  }
  for (const udp::Interface& each : udp::list_interfaces())
    count += std::atoll(first_line("/sys/class/net/" + each.name + "/statistics/rx_crc_errors").c_str());
  return count;
}

json facts_of_host(const Knobs& knobs) {
  utsname system{};
  ::uname(&system);
  std::string yama = first_line("/proc/sys/kernel/yama/ptrace_scope");
  return {{"name", system.nodename},
          {"herald", kVersion},
          {"kernel", std::string(system.sysname) + " " + system.release},
          {"machine", system.machine},
          {"cores", std::thread::hardware_concurrency()},
          {"clock", first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource")},
          {"interfaces", interfaces()},
          {"rp_filter", first_line("/proc/sys/net/ipv4/conf/all/rp_filter")},
          {"sockets", socket_bytes(knobs.net_socket_bytes)},
          {"shm", shared_memory()},
          {"cma", cma_works()},
          {"ptrace_scope", yama},
          {"files", limit(RLIMIT_NOFILE)},
          {"memlock", limit(RLIMIT_MEMLOCK)},
          {"launchers", launchers()}};
}

}  // namespace herald::tools::doctor
