// SPDX-License-Identifier: BSD-3-Clause
// base/trace.hpp: a timeline of a process: events of trace.def in a ring buffer, written as a Chrome trace
// (JSON, for Perfetto and chrome://tracing) at the end.
// In:  events, under the lock of the caller; the clock, given to open() or listen().
// Out: a file; a call of the listener for each event that it wants (MPI_T). A full ring keeps the last
// events; the file says how many were lost.
// Switched off, it costs one well-predicted branch. Pure rooms get a Trace* (null: none).
#pragma once
#include <cstdint>
#include <cstdio>
#include <string>

#include "base/instant.hpp"

namespace herald {

enum class TraceEvent : std::uint16_t {
#define HERALD_TRACE_EVENT(name, kind, shown, a, b, c, text) name,
#include "base/trace.def"
#undef HERALD_TRACE_EVENT
  count
};
constexpr int kTraceEvents = static_cast<int>(TraceEvent::count);
static_assert(kTraceEvents <= 64, "a listener selects events by bits of a word");

// A row of trace.def, for tools.
struct TraceRow {
  const char* name;
  const char* text;
  const char* names[3];
  bool is_point;
  int elements() const noexcept;
  bool is_text(int index) const noexcept { return names[index][0] == '*'; }
  const char* element(int index) const noexcept { return names[index] + (is_text(index) ? 1 : 0); }
};
const TraceRow& trace_row(int event) noexcept;

struct TraceSample {
  TraceEvent event;
  Instant at;
  std::int64_t a, b, c;
};

// The process that writes the timeline, and its clock.
struct TraceFacts {
  int rank = 0, size = 1;
  std::string host;
  std::string clock;     // processes with the same name share the clock
  double link_mbit = 0;  // 0: not known
  unsigned cores = 0;
};

class Trace {
 public:
  using Clock = Instant (*)();

  Trace() noexcept = default;
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // From now on the last `most` events are kept; times count from now. False: out of memory.
  bool open(std::uint64_t most, Clock clock) noexcept;
  // Drops all events; times count from now.
  void restart() noexcept;
  void close() noexcept;    // the memory stays: another thread may be adding
  void release() noexcept;  // frees it: no thread adds any more
  bool on() const noexcept { return recording_ || wanted_ != 0; }
  bool is_recording() const noexcept { return recording_; }
  // Events whose bit is set in `wanted` go to `listener`, from inside add(). 0: none.
  using Listener = void (*)(const TraceSample& sample);
  void listen(std::uint64_t wanted, Listener listener, Clock clock) noexcept;

  // `id` pairs a start with its finish, for example an address.
  void add(TraceEvent event, std::uint64_t id = 0, std::int64_t a = 0, std::int64_t b = 0,
           std::int32_t c = 0) noexcept {
    if (on()) [[unlikely]]
      keep(event, id, a, b, c);
  }
  void add(TraceEvent event, const void* thing, std::int64_t a = 0, std::int64_t b = 0,
           std::int32_t c = 0) noexcept {
    add(event, static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(thing)), a, b, c);
  }
  // The end of a state. A state in which nothing happened is forgotten: polling would fill the ring.
  void end_or_forget(TraceEvent begin, TraceEvent end) noexcept;
  static std::int64_t text(const char* literal) noexcept {
    return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(literal));
  }

  // Writes all kept events as a Chrome trace. False: a write failed.
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
  bool recording_ = false;
  std::uint64_t wanted_ = 0;
  Listener listener_ = nullptr;
  Record* ring_ = nullptr;   // not freed at exit: exit handlers may still add
  std::uint64_t most_ = 0;   // a power of two
  std::uint64_t first_ = 0;  // the oldest that is kept, and the number of those lost
  std::uint64_t count_ = 0;  // ever kept
  Instant start_{};
};

// The timeline of this process. Pure rooms do not name it.
extern Trace process_trace;

// The name of the file of one process: %r is the rank, %h the host, %% a percent sign. Where several
// processes write and %r is missing, the rank goes before the last dot, or to the end.
std::string trace_path(const std::string& pattern, const TraceFacts& facts);

}  // namespace herald
