// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/direct.hpp"

#include <new>

namespace herald::p2p {

std::size_t DirectRead::slice(std::uint64_t begin, std::uint64_t length,
                              std::span<type::Run> out) const noexcept {
  std::size_t used = 0;
  for (std::uint32_t i = 0; i < runs && length != 0 && used < out.size(); ++i) {
    if (begin >= there[i].bytes) {
      begin -= there[i].bytes;
      continue;
    }
    const std::uint64_t part = std::min<std::uint64_t>(there[i].bytes - begin, length);
    out[used++] = run_at(reinterpret_cast<std::uintptr_t>(there[i].data) + begin, part);
    length -= part;
    begin = 0;
  }
  return used;
}

DirectPool::~DirectPool() {
  while (DirectRead* direct = free_.pop_front()) delete direct;
}

DirectRead* DirectPool::get() noexcept {
  DirectRead* direct = free_.pop_front();
  return direct != nullptr ? direct : new (std::nothrow) DirectRead;
}

std::uint32_t SplitCopies::take(PeerId with) noexcept {
  if (all_ == nullptr) return kAllSplitCopies;
  std::uint32_t index = 0;
  while (index < kSplitCopies && !is_free(index)) ++index;
  if (index == kSplitCopies) return kAllSplitCopies;
  uses_[index] = {.with = with, .ours = true, .theirs = true};
  return index;
}

std::uint32_t SplitCopies::take_for_ad(PeerId with) noexcept {
  const std::uint32_t index = kSplitCopies + static_cast<std::uint32_t>(with) % kAds;
  if (all_ == nullptr || !is_free(index)) return kAllSplitCopies;
  uses_[index] = {.with = with, .ours = true, .theirs = false};
  return index;
}

bool SplitCopies::is_free(std::uint32_t index) const noexcept {
  const Use& use = uses_[index];
  return !use.ours && (!use.theirs || all_[index].released.load(std::memory_order_acquire) != 0);
}

bool SplitCopies::release_theirs(std::uint32_t index, PeerId with) noexcept {
  if (index >= kAllSplitCopies || !uses_[index].theirs || uses_[index].with != with) return false;
  uses_[index].theirs = false;
  return true;
}

void SplitCopies::release_all(PeerId with) noexcept {
  for (Use& use : uses_)
    if (use.with == with) use.theirs = false;
}

}  // namespace herald::p2p
