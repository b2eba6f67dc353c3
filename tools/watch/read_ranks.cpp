// SPDX-License-Identifier: BSD-3-Clause
#include "watch/read_ranks.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <utility>

namespace herald::watch {
namespace {

using Folder = std::unique_ptr<DIR, int (*)(DIR*)>;

std::vector<std::string> numbers_in(const std::string& path) {
  std::vector<std::string> out;
  const Folder folder(opendir(path.c_str()), closedir);
  if (!folder) return out;
  while (const dirent* entry = readdir(folder.get()))
    if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9') out.emplace_back(entry->d_name);
  return out;
}

bool is_page(const std::string& link) {
  static const std::string start = std::string("/memfd:") + kRankPageName + " ";
  char target[64];
  const ssize_t length = readlink(link.c_str(), target, sizeof target);
  return length > 0 &&
         std::string(target, static_cast<std::size_t>(length)).compare(0, start.size(), start) == 0;
}

// Null: not a page of this version, or that of the process's parent.
RankPage* map_page(const std::string& link, int pid) {
  const int fd = open(link.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  struct stat info {};
  void* memory = MAP_FAILED;
  if (fstat(fd, &info) == 0 && info.st_size == static_cast<off_t>(sizeof(RankPage)))
    memory = mmap(nullptr, sizeof(RankPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (memory == MAP_FAILED) return nullptr;
  auto* page = static_cast<RankPage*>(memory);
  if (page->magic == RankPage::kMagic && page->pid == pid) return page;
  munmap(memory, sizeof(RankPage));
  return nullptr;
}

RankPage* find_page(const std::string& process) {
  const std::string fds = "/proc/" + process + "/fd";
  for (const std::string& fd : numbers_in(fds))
    if (is_page(fds + "/" + fd))
      if (RankPage* page = map_page(fds + "/" + fd, std::atoi(process.c_str())); page != nullptr) return page;
  return nullptr;
}

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

template <std::size_t N>
std::string text_of(const std::array<char, N>& room) {
  return {room.data(), strnlen(room.data(), N)};
}

// A page is written by another process: nothing in it is trusted.
bool make_safe(ShownWait& wait) {
  wait.call.back() = wait.comm.back() = '\0';
  wait.shown = std::min({wait.shown, wait.total, ShownWait::kOps});
  wait.member_count = std::min(wait.member_count, ShownWait::kMembers);
  wait.unexpected_count = std::min(wait.unexpected_count, ShownWait::kUnexpected);
  return wait.since_ns != 0;
}

}  // namespace

RankReader::~RankReader() {
  if (page_ != nullptr) munmap(page_, sizeof *page_);
}
RankReader::RankReader(RankReader&& other) noexcept : page_(std::exchange(other.page_, nullptr)) {}
RankReader& RankReader::operator=(RankReader&& other) noexcept {
  std::swap(page_, other.page_);
  return *this;
}

void RankReader::want_counters() const noexcept { page_->wanted.fetch_add(1, std::memory_order_relaxed); }
void RankReader::want_timeline() const noexcept {
  page_->timelines_wanted.fetch_add(1, std::memory_order_relaxed);
  page_->wanted.fetch_add(1, std::memory_order_release);
}

bool RankReader::has_answered() const noexcept {
  return page_->served.load(std::memory_order_acquire) == page_->wanted.load(std::memory_order_relaxed);
}
bool RankReader::is_alive() const noexcept { return kill(page_->pid, 0) == 0 || errno == EPERM; }

RankView RankReader::read() const {
  constexpr int kTries = 1000;
  RankView view;
  view.rank = page_->rank;
  view.size = page_->size;
  view.pid = page_->pid;
  view.job = text_of(page_->job);
  view.host = text_of(page_->host);
  for (int i = 0; i < kTries; ++i) {
    const std::uint32_t before = page_->version.load(std::memory_order_acquire);
    view.phase = page_->phase.load(std::memory_order_acquire);
    view.waits.assign(page_->waits.begin(), page_->waits.end());
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before % 2 == 0 && page_->version.load(std::memory_order_relaxed) == before) break;
  }
  view.waits.erase(
      std::remove_if(view.waits.begin(), view.waits.end(), [](ShownWait& w) { return !make_safe(w); }),
      view.waits.end());
  view.answered = has_answered();
  view.counted_ns = page_->counted_ns.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < view.counters.size(); ++i)
    view.counters[i] = page_->counters[i].load(std::memory_order_relaxed);
  view.read_ns = now_ns();
  return view;
}

std::vector<RankReader> open_ranks(const std::string& job) {
  std::vector<RankReader> out;
  for (const std::string& process : numbers_in("/proc"))
    if (RankPage* page = find_page(process); page != nullptr) {
      RankReader reader(page);
      if (job.empty() || text_of(page->job) == job) out.push_back(std::move(reader));
    }
  return out;
}

std::vector<RankView> read_ranks(const std::string& job) {
  std::vector<RankView> out;
  for (const RankReader& reader : open_ranks(job)) out.push_back(reader.read());
  return out;
}

void want_timelines(const std::string& job) {
  for (const RankReader& each : open_ranks(job)) each.want_timeline();
}

}  // namespace herald::watch
