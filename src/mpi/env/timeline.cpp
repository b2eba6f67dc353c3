// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/env/timeline.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "base/fd.hpp"
#include "mpi/core/runtime.hpp"

namespace herald::mpi {
namespace {

Instant clock_now() noexcept {
  timespec time{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &time);
  return {std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec};
}

// Processes of one boot of one machine share a clock, also when they are in different containers.
std::string clock_name() {
  char text[64] = {};
  if (std::FILE* file = open_file("/proc/sys/kernel/random/boot_id", O_RDONLY)) {
    if (std::fgets(text, sizeof text, file) == nullptr) text[0] = '\0';
    std::fclose(file);
  }
  text[std::strcspn(text, "\n")] = '\0';
  return *text != '\0' ? text : host_name();
}

}  // namespace

void open_timeline() noexcept {
  const Knobs& knobs = runtime().knobs();
  if (knobs.trace.empty()) return;
  if (!process_trace.open(static_cast<std::uint64_t>(knobs.trace_events), clock_now))
    std::fprintf(stderr,
                 "herald: %s: no memory for a timeline of HERALD_TRACE_EVENTS=%lld events: there is none\n",
                 who_am_i(), static_cast<long long>(knobs.trace_events));
}

void start_timeline() noexcept { process_trace.restart(); }

void write_timeline() noexcept {
  if (!process_trace.is_recording()) return;
  TraceFacts facts;
  facts.rank = runtime().boot().rank();
  facts.size = runtime().boot().size();
  facts.host = host_name();
  facts.clock = clock_name();
  const std::string path = trace_path(runtime().knobs().trace, facts);
  std::FILE* file = open_file(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC);
  bool written = file != nullptr && process_trace.write(file, facts);
  const int error = errno;
  if (file != nullptr && std::fclose(file) != 0) written = false;
  if (!written)
    std::fprintf(stderr, "herald: %s: HERALD_TRACE: %s could not be written: %s\n", who_am_i(), path.c_str(),
                 std::strerror(error));
  process_trace.close();
}

}  // namespace herald::mpi
