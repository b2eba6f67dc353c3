// SPDX-License-Identifier: BSD-3-Clause
// io/storage.hpp: the file operations that this room is handed.
#pragma once
#include <cstdint>
#include <span>

#include "type/cursor.hpp"

namespace herald::io {

// Bytes that were moved, and why no more were: an errno value, or 0. A read that is short without an error
// has met the end of the file.
struct Outcome {
  std::int64_t bytes = 0;
  int error = 0;
};

class Storage {
 public:
  Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  virtual ~Storage() = default;
  // Adjacent bytes of the file from `offset` on, into or from these runs of memory.
  virtual Outcome read(std::int64_t offset, std::span<const type::Run> memory) noexcept = 0;
  virtual Outcome write(std::int64_t offset, std::span<const type::Run> memory) noexcept = 0;

  Outcome read(std::int64_t offset, void* data, std::int64_t bytes) noexcept {
    const type::Run run{data, static_cast<std::size_t>(bytes)};
    return read(offset, {&run, 1});
  }
  Outcome write(std::int64_t offset, void* data, std::int64_t bytes) noexcept {
    const type::Run run{data, static_cast<std::size_t>(bytes)};
    return write(offset, {&run, 1});
  }
};

}  // namespace herald::io
