// SPDX-License-Identifier: BSD-3-Clause
#include "path/shm/cma.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace herald::path {
namespace {

constexpr std::size_t kBatch = 64;

using Copy = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);

// The runs of one side that are not copied yet, a batch of them at a time.
class RemainingRuns {
 public:
  explicit RemainingRuns(std::span<const iovec> runs) noexcept : runs_(runs) { fill(); }
  const iovec* data() const noexcept { return batch_.data(); }
  std::size_t count() const noexcept { return count_; }
  void skip(std::size_t bytes) noexcept {
    while (bytes != 0 && at_ < runs_.size()) {
      const std::size_t part = std::min(bytes, runs_[at_].iov_len - inside_);
      inside_ += part;
      bytes -= part;
      if (inside_ == runs_[at_].iov_len) ++at_, inside_ = 0;
    }
    fill();
  }

 private:
  void fill() noexcept {
    while (at_ < runs_.size() && runs_[at_].iov_len == inside_) ++at_, inside_ = 0;
    count_ = std::min(kBatch, runs_.size() - at_);
    std::copy_n(runs_.begin() + static_cast<std::ptrdiff_t>(at_), count_, batch_.begin());
    if (count_ == 0) return;
    batch_[0].iov_base = static_cast<char*>(batch_[0].iov_base) + inside_;
    batch_[0].iov_len -= inside_;
  }
  std::span<const iovec> runs_;
  std::size_t at_ = 0, inside_ = 0;
  std::array<iovec, kBatch> batch_{};
  std::size_t count_ = 0;
};

Status copy(Copy call, pid_t pid, std::span<const iovec> here, std::span<const iovec> there) noexcept {
  if (here.size() == 1 && there.size() == 1) {  // the usual case, usually complete at once
    const ssize_t done = call(pid, here.data(), 1, there.data(), 1, 0);
    if (done == static_cast<ssize_t>(here[0].iov_len)) return Status::ok;
  }
  RemainingRuns ours(here), theirs(there);
  while (ours.count() != 0) {
    const ssize_t done = call(pid, ours.data(), ours.count(), theirs.data(), theirs.count(), 0);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return done < 0 && errno == ESRCH ? Status::peer_lost : Status::unsupported;
    ours.skip(static_cast<std::size_t>(done));
    theirs.skip(static_cast<std::size_t>(done));
  }
  return Status::ok;
}

}  // namespace

std::optional<Cma> Cma::open(bool allowed) noexcept {
  if (!allowed) return std::nullopt;
#ifdef PR_SET_PTRACER
  (void)::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
  return Cma();
}

Status Cma::read(pid_t pid, std::span<const iovec> here, std::span<const iovec> there) const noexcept {
  return copy(::process_vm_readv, pid, here, there);
}

Status Cma::write(pid_t pid, std::span<const iovec> here, std::span<const iovec> there) const noexcept {
  return copy(::process_vm_writev, pid, here, there);
}

bool Cma::probe(pid_t pid, std::uint64_t address, std::uint64_t expected) const noexcept {
  std::uint64_t found = ~expected;
  const iovec here{&found, sizeof found};
  const iovec there{reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)), sizeof found};
  return read(pid, {&here, 1}, {&there, 1}) == Status::ok && found == expected;
}

}  // namespace herald::path
