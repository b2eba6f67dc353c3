// SPDX-License-Identifier: BSD-3-Clause
// base/trace.hpp: a timeline of what a process does: events of trace.def, kept in a ring and written as a
// Chrome trace (JSON, for Perfetto and chrome://tracing) at the end.
// In:  events, under the lock of whoever drives; the clock, handed in when it is opened.
// Out: a file. The last events are kept when the ring is full; how many were lost is written too.
// Off costs one branch that is always the same. Pure rooms are handed a Trace* (null: none), as any sink.
#pragma once
#include <cstdint>
#include <cstdio>
#include <string>

#include "base/instant.hpp"

namespace herald {

enum class TraceEvent : std::uint16_t {
#define HERALD_TRACE_EVENT(name, kind, shown, a, b, c) name,
#include "base/trace.def"
#undef HERALD_TRACE_EVENT
};

// Who writes the timeline, and what its times count from.
struct TraceFacts {
  int rank = 0, size = 1;
  std::string host;
  std::string clock;  // processes that name the same clock read the same one
};

class Trace {
 public:
  using Clock = Instant (*)();

  Trace() noexcept = default;
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // From now on events are kept, the last `most` of them; times count from now. False: no memory.
  bool open(std::uint64_t most, Clock clock) noexcept;
  // What came before is forgotten, and times count from now.
  void restart() noexcept;
  void close() noexcept;    // the memory stays: another thread may be adding
  void release() noexcept;  // and goes: nobody is
  bool on() const noexcept { return clock_ != nullptr; }

  // `id` joins a start to its finish: an address will do.
  void add(TraceEvent event, std::uint64_t id = 0, std::int64_t a = 0, std::int64_t b = 0,
           std::int32_t c = 0) noexcept {
    if (on()) [[unlikely]]
      keep(event, id, a, b, c);
  }
  void add(TraceEvent event, const void* thing, std::int64_t a = 0, std::int64_t b = 0,
           std::int32_t c = 0) noexcept {
    add(event, static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(thing)), a, b, c);
  }
  static std::int64_t text(const char* literal) noexcept {
    return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(literal));
  }

  // Everything that is kept, as a Chrome trace. False: could not be written.
  bool write(std::FILE* out, const TraceFacts& facts) const noexcept;

 private:
  struct Record {
    std::int64_t ns, a, b;
    std::uint64_t id;
    std::int32_t c;
    TraceEvent event;
    std::uint16_t thread;
  };
  class Writer;
  void keep(TraceEvent event, std::uint64_t id, std::int64_t a, std::int64_t b, std::int32_t c) noexcept;

  Clock clock_ = nullptr;
  Record* ring_ = nullptr;   // not freed at exit: exit handlers may still add
  std::uint64_t most_ = 0;   // a power of two
  std::uint64_t count_ = 0;  // ever kept
  Instant start_{};
};

// The timeline of this process. Pure rooms do not name it.
extern Trace process_trace;

// The name of the file of one process: %r is the rank, %h the host, %% a percent sign. Where several
// processes write and %r is missing, the rank goes before the last dot, or to the end.
std::string trace_path(const std::string& pattern, const TraceFacts& facts);

}  // namespace herald
