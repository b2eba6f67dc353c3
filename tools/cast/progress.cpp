// SPDX-License-Identifier: BSD-3-Clause
// tools/cast/progress.cpp: a progress bar or lines on stderr.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cast.hpp"

namespace herald::cast {
namespace {

constexpr int kWidth = 30;

std::string bytes_text(double bytes) {
  static constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  int unit = 0;
  for (; bytes >= 1000 && unit < 4; ++unit) bytes /= 1000;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, kUnits[unit]);
}

}  // namespace

void Progress::add(std::uint64_t bytes, bool copied) {
  done_ += bytes;
  if (copied) copied_ += bytes;
  if (!options_.quiet) show(false);
}

void Progress::show(bool last) {
  const int percent = total_ == 0 ? 100 : static_cast<int>(done_ * 100 / total_);
  const Clock::time_point now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  const double rate = seconds > 0 ? static_cast<double>(copied_) / seconds : 0;
  if (!options_.bar) {
    if (last || percent / 10 == shown_ / 10) return;
    shown_ = percent;
    fmt::print(stderr, "herald cast: {} % of {}, {}/s\n", percent, bytes_text(static_cast<double>(total_)),
               bytes_text(rate));
    return;
  }
  if (!last && (percent == shown_ || now - shown_at_ < std::chrono::milliseconds(50))) return;
  shown_ = percent;
  shown_at_ = now;
  const int full = percent * kWidth / 100;
  const double left = rate > 0 ? static_cast<double>(total_ - done_) / rate : 0;
  fmt::print(stderr, "\r[{:<{}}] {:3} %  {}/s  {:.0f} s left   {}",
             std::string(static_cast<std::size_t>(full), '='), kWidth, percent, bytes_text(rate), left,
             last ? "\n" : "");
  std::fflush(stderr);
}

void Progress::finish(std::size_t hosts) {
  if (options_.quiet) return;
  show(true);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
  fmt::print(stderr, "herald cast: {} to {} host{} in {:.2f} s: {}/s to each{}\n",
             bytes_text(static_cast<double>(copied_)), hosts, hosts == 1 ? "" : "s", seconds,
             bytes_text(static_cast<double>(copied_) / std::max(seconds, 1e-9)),
             copied_ < done_
                 ? fmt::format("; {} existed already", bytes_text(static_cast<double>(done_ - copied_)))
                 : "");
}

}  // namespace herald::cast
