// SPDX-License-Identifier: BSD-3-Clause
// wire/file_packet.hpp: the header of service calls for files (docs/wire.md).
#pragma once
#include <array>
#include <cstdint>

#include "wire/le.hpp"

namespace herald::wire {

enum class FileKind : std::uint8_t {
  none = 0,
  // To the coordinator of a file; each is answered by `answer`, except unlock.
  fetch_add = 1,  // adds `value` to the shared pointer; the answer has what it was before
  store = 2,      // sets the shared pointer
  lock = 3,       // `value` not 0: exclusive; answered when the lock is held
  unlock = 4,
  // From the coordinator.
  answer = 16,
};

struct FileHeader {
  Le<std::uint64_t> file;
  FileKind kind;
  std::array<std::uint8_t, 3> unused;
  Le<std::uint32_t> source;  // rank of the caller in the file
  Le<std::uint32_t> id;      // the answer repeats it
  Le<std::int64_t> value;
};
static_assert(sizeof(FileHeader) == 28 && alignof(FileHeader) == 1);

}  // namespace herald::wire
