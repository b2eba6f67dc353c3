// SPDX-License-Identifier: BSD-3-Clause
#include "engine/processors.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "base/fd.hpp"

namespace herald::engine {
namespace {

using path::CpuMask;
using path::kCpuWords;

bool overlap(const CpuMask& a, const CpuMask& b) noexcept {
  for (std::size_t i = 0; i < kCpuWords; ++i)
    if ((a[i] & b[i]) != 0) return true;
  return false;
}

// Ranks that may run where we may, ourselves too, and the processors that they have together.
struct CoLocated {
  std::size_t ranks = 0, cpus = 0;
};

CoLocated co_located(std::span<const CpuMask> masks, std::size_t me) noexcept {
  CoLocated found;
  CpuMask reach{};
  for (const CpuMask& mask : masks) {
    if (!overlap(mask, masks[me])) continue;
    ++found.ranks;
    for (std::size_t i = 0; i < kCpuWords; ++i) reach[i] |= mask[i];
  }
  found.cpus = count_cpus(reach);
  return found;
}

std::string read_small_file(const std::string& path) {
  const int fd = safe_fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd < 0) return {};
  char text[4096];
  const ssize_t n = ::read(fd, text, sizeof text);
  ::close(fd);
  return n > 0 ? std::string(text, static_cast<std::size_t>(n)) : std::string();
}

// The tightest quota from our control group up to the root.
double quota_v2(std::string group) {
  double tightest = 0;
  for (;;) {
    const double here = parse_cpu_max(read_small_file("/sys/fs/cgroup" + group + "/cpu.max"));
    if (here > 0 && (tightest == 0 || here < tightest)) tightest = here;
    if (group.empty()) return tightest;
    group.resize(group.rfind('/'));
  }
}

}  // namespace

std::size_t count_cpus(const CpuMask& mask) noexcept {
  std::size_t cpus = 0;
  for (const std::uint64_t word : mask) cpus += static_cast<std::size_t>(std::popcount(word));
  return cpus;
}

SpinPlan choose_spin(std::span<const CpuMask> masks, std::size_t me, const Quota& quota,
                     std::int64_t knob_us) noexcept {
  if (knob_us >= 0) return {microseconds(knob_us), true};
  const CoLocated around = co_located(masks, me);
  const bool oversubscribed =
      around.ranks > around.cpus || (quota.cpus > 0 && static_cast<double>(quota.ranks) > quota.cpus);
  return {oversubscribed ? Duration{} : kSpinAlone};
}

bool has_free_core(std::span<const CpuMask> masks, std::size_t me, const Quota& quota) noexcept {
  const CoLocated around = co_located(masks, me);
  const bool enough = quota.cpus <= 0 || quota.cpus >= 2 * static_cast<double>(quota.ranks);
  return enough && count_cpus(masks[me]) >= 2 && around.cpus >= 2 * around.ranks;
}

std::int64_t involuntary_switches() noexcept {
  rusage use{};
  (void)::getrusage(RUSAGE_THREAD, &use);
  return use.ru_nivcsw;
}

CpuMask read_affinity() noexcept {
  CpuMask mask{};
  cpu_set_t set;
  CPU_ZERO(&set);
  static_assert(sizeof set >= sizeof mask);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) std::memcpy(mask.data(), &set, sizeof mask);
  if (!overlap(mask, mask)) mask[0] = 1;  // unknown: take it that there is one
  return mask;
}

double parse_cpu_max(const std::string& text) noexcept {
  char* end = nullptr;
  const double quota = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != ' ') return 0;
  const double period = std::strtod(end, nullptr);
  return quota > 0 && period > 0 ? quota / period : 0;
}

std::uint64_t read_memory_bytes() noexcept {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  const std::uint64_t all =
      pages > 0 && page > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page) : 0;
  const std::uint64_t granted =
      std::strtoull(read_small_file("/sys/fs/cgroup/memory.max").c_str(), nullptr, 10);  // "max": 0
  return granted != 0 ? std::min(all, granted) : all;
}

double read_cpu_quota() {
  const std::string groups = read_small_file("/proc/self/cgroup");
  std::size_t at = groups.rfind("0::", 0) == 0 ? 0 : groups.find("\n0::");
  if (at != std::string::npos) {
    at = groups.find("::", at) + 2;
    std::string group = groups.substr(at, groups.find('\n', at) - at);
    if (!group.empty() && group.back() == '/') group.pop_back();
    const double quota = quota_v2(group);
    if (quota > 0) return quota;
  }
  const std::string old_quota = read_small_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  const std::string old_period = read_small_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  const double quota = std::strtod(old_quota.c_str(), nullptr);
  const double period = std::strtod(old_period.c_str(), nullptr);
  return quota > 0 && period > 0 ? quota / period : 0;
}

}  // namespace herald::engine
