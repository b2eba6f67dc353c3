// SPDX-License-Identifier: BSD-3-Clause
// io/scratch.hpp: memory that accesses of a file use one after the other: to allocate, clear and return 12
// MiB costs more time than to exchange them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace herald::io {

// Its bytes have no defined value after resize(). It keeps the most memory that it ever had.
class Scratch {
 public:
  void resize(std::size_t bytes) noexcept {
    if (bytes > room_) {
      bytes_.reset();
      bytes_ = std::make_unique_for_overwrite<char[]>(bytes);
      room_ = bytes;
    }
    size_ = bytes;
  }
  char* data() const noexcept { return bytes_.get(); }
  std::size_t size() const noexcept { return size_; }
  std::size_t room() const noexcept { return room_; }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0, room_ = 0;
};

// Of one window of an aggregator.
struct WindowMemory {
  Scratch exchanged;                   // as ranks send it or receive it
  Scratch file;                        // as it lies in the file
  std::vector<std::uint64_t> covered;  // a bit for each byte of the window that a rank writes
  std::size_t room() const noexcept { return exchanged.room() + file.room(); }
};

}  // namespace herald::io
