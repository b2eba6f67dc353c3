// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/env/timeline.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <thread>

#include "base/fd.hpp"
#include "boot/model_file.hpp"
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

bool is_timeline(int fd) noexcept {
  constexpr char kBegin[] = "{\"displayTimeUnit\":\"ns\",\n\"herald\":";
  char text[sizeof kBegin - 1];
  return ::pread(fd, text, sizeof text, 0) == sizeof text && std::memcmp(text, kBegin, sizeof text) == 0;
}

// Others may have put a file or a link at a path in a shared folder, and a user may name the wrong file: only
// an empty file or a timeline is overwritten, of this user, and not through links. Null and errno otherwise.
std::FILE* create_timeline(const char* path) noexcept {
  const int fd = safe_fd(::open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666));
  if (fd < 0) {
    if (errno == ELOOP) errno = EEXIST;
    return nullptr;
  }
  struct stat info {};
  const bool ours = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == ::geteuid() &&
                    info.st_nlink == 1 && (info.st_size == 0 || is_timeline(fd));
  std::FILE* const file = ours && ::ftruncate(fd, 0) == 0 ? ::fdopen(fd, "w") : nullptr;
  if (file == nullptr) {
    const int error = ours ? errno : EEXIST;
    ::close(fd);
    errno = error;
  }
  return file;
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

void save_timeline() noexcept {
  if (!process_trace.is_recording()) return;
  TraceFacts facts;
  facts.rank = runtime().boot().rank();
  facts.size = runtime().boot().size();
  facts.host = host_name();
  facts.clock = clock_name();
  facts.link_mbit = boot::link_mbit();
  facts.cores = std::thread::hardware_concurrency();
  const std::string path = trace_path(runtime().knobs().trace, facts);
  std::FILE* file = create_timeline(path.c_str());
  bool written = file != nullptr && process_trace.write(file, facts);
  const int error = errno;
  if (file != nullptr && std::fclose(file) != 0) written = false;
  if (!written)
    std::fprintf(stderr, "herald: %s: HERALD_TRACE: %s could not be written: %s\n", who_am_i(), path.c_str(),
                 file == nullptr && error == EEXIST
                     ? "it exists, and is no timeline of yours; remove it, or name another file"
                     : std::strerror(error));
}

void write_timeline() noexcept {
  save_timeline();
  process_trace.close();
}

}  // namespace herald::mpi
