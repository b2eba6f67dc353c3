// SPDX-License-Identifier: BSD-3-Clause
// A file in memory, with faults on demand.
#pragma once
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "io/storage.hpp"

namespace herald::io {

class MemoryStorage final : public Storage {
 public:
  using Storage::read;
  using Storage::write;
  Outcome read(std::int64_t offset, std::span<const type::Run> memory) noexcept override {
    ++reads;
    Outcome out;
    for (const type::Run& run : memory) {
      const std::int64_t at = offset + out.bytes, size = static_cast<std::int64_t>(data.size());
      const auto length = static_cast<std::size_t>(
          std::clamp<std::int64_t>(size - at, 0, static_cast<std::int64_t>(run.bytes)));
      std::memcpy(run.data, data.data() + at, length);
      out.bytes += static_cast<std::int64_t>(length);
      if (length < run.bytes) break;
    }
    return out;
  }
  Outcome write(std::int64_t offset, std::span<const type::Run> memory) noexcept override {
    ++writes;
    Outcome out;
    for (const type::Run& run : memory) {
      if (writes > fails_after) return {out.bytes, ENOSPC};
      const auto at = static_cast<std::size_t>(offset + out.bytes);
      if (data.size() < at + run.bytes) data.resize(at + run.bytes);
      std::memcpy(data.data() + at, run.data, run.bytes);
      out.bytes += static_cast<std::int64_t>(run.bytes);
    }
    return out;
  }

  std::vector<char> data;
  int reads = 0, writes = 0;
  int fails_after = 1 << 30;  // writes
};

}  // namespace herald::io
