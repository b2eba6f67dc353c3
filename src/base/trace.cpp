// SPDX-License-Identifier: BSD-3-Clause
#include "base/trace.hpp"

#include <atomic>
#include <bit>
#include <cstring>
#include <new>
#include <unordered_map>
#include <vector>

namespace herald {
namespace {

enum class Kind : std::uint8_t { start, finish, begin, end, point };

struct EventRow {
  Kind kind;
  const char* shown;
  const char* names[3];
};

constexpr EventRow kEvents[] = {
#define HERALD_TRACE_EVENT(name, kind, shown, a, b, c, text) {Kind::kind, shown, {a, b, c}},
#include "base/trace.def"
#undef HERALD_TRACE_EVENT
};

constexpr TraceRow kToolRows[] = {
#define HERALD_TRACE_EVENT(name, kind, shown, a, b, c, text) \
  {#name, text, {a, b, c}, Kind::kind == Kind::point},
#include "base/trace.def"
#undef HERALD_TRACE_EVENT
};

std::uint16_t thread_number() noexcept {
  static std::atomic<std::uint16_t> threads{0};
  static thread_local const std::uint16_t mine = threads.fetch_add(1, std::memory_order_relaxed);
  return mine;
}

// As a JSON string, with its quotes.
void put_text(std::FILE* out, const char* text) noexcept {
  std::fputc('"', out);
  for (; *text != '\0'; ++text) {
    const auto byte = static_cast<unsigned char>(*text);
    if (byte == '"' || byte == '\\')
      std::fprintf(out, "\\%c", byte);
    else if (byte < 0x20)
      std::fprintf(out, "\\u%04x", byte);
    else
      std::fputc(byte, out);
  }
  std::fputc('"', out);
}

// With a decimal point in every locale.
void put_micros(std::FILE* out, std::int64_t ns) noexcept {
  const std::int64_t size = ns < 0 ? -ns : ns;
  std::fprintf(out, "%s%lld.%03d", ns < 0 ? "-" : "", static_cast<long long>(size / 1000),
               static_cast<int>(size % 1000));
}

// A wait that ended at once is no polling, and shows where a program needs its messages.
bool is_kept(const void* name) noexcept {
  constexpr char kWait[] = "MPI_Wait";
  return name != nullptr && std::strncmp(static_cast<const char*>(name), kWait, sizeof kWait - 1) == 0;
}

}  // namespace

constinit Trace process_trace;

const TraceRow& trace_row(int event) noexcept { return kToolRows[event]; }

int TraceRow::elements() const noexcept {
  int count = 3;
  while (count > 0 && *names[count - 1] == '\0') --count;
  return count;
}

bool Trace::open(std::uint64_t most, Clock clock) noexcept {
  most_ = std::bit_ceil(most);
  delete[] ring_;
  ring_ = new (std::nothrow) Record[most_];
  if (ring_ == nullptr) return false;
  first_ = count_ = 0;
  start_ = clock();
  clock_ = clock;
  recording_ = true;
  return true;
}

void Trace::listen(std::uint64_t wanted, Listener listener, Clock clock) noexcept {
  if (clock_ == nullptr) clock_ = clock;
  listener_ = listener;
  wanted_ = wanted;
}

void Trace::restart() noexcept {
  if (!recording_) return;
  first_ = count_ = 0;
  start_ = clock_();
}

void Trace::close() noexcept { recording_ = false; }

void Trace::release() noexcept {
  close();
  delete[] ring_;
  ring_ = nullptr;
}

void Trace::keep(TraceEvent event, std::uint64_t id, std::int64_t a, std::int64_t b,
                 std::int32_t c) noexcept {
  const Instant now = clock_();
  if (recording_) {
    if (count_ - first_ == most_) ++first_;
    ring_[count_++ & (most_ - 1)] = {now.ns, a, b, id, c, event, thread_number()};
  }
  if ((wanted_ >> static_cast<int>(event) & 1) != 0) listener_({event, now, a, b, c});
}

void Trace::end_or_forget(TraceEvent begin, TraceEvent end) noexcept {
  if (!on()) return;
  if (recording_ && count_ != first_ && wanted_ == 0) {
    const Record& last = ring_[(count_ - 1) & (most_ - 1)];
    if (last.event == begin && last.thread == thread_number() &&
        !(begin == TraceEvent::call_begin && is_kept(reinterpret_cast<const void*>(last.a)))) {
      --count_;
      return;
    }
  }
  keep(end, 0, 0, 0, 0);
}

// Pairs starts with finishes and begins with ends. An event whose other half was overwritten in the ring is
// left out; one that has not finished ends where the timeline ends.
class Trace::Writer {
 public:
  Writer(std::FILE* out, const Trace& trace, int rank) noexcept : out_(out), trace_(trace), rank_(rank) {}

  void event(const Record& record) noexcept {
    const EventRow& row = row_of(record);
    last_ns_ = record.ns;
    switch (row.kind) {
      case Kind::start: open_[record.id] = ++ids_, head(row, record, 'b', ids_), args(row, record); return;
      case Kind::finish: finish(row, record); return;
      case Kind::begin: stack(record.thread).push_back(record); return;
      case Kind::end: end(row, record); return;
      case Kind::point:
        head(row, record, 'i', 0), std::fputs(",\"s\":\"t\"", out_), args(row, record);
        return;
    }
  }

  // States that were open when the timeline ended.
  void rest() noexcept {
    for (std::vector<Record>& doing : threads_)
      while (!doing.empty()) {
        Record record = doing.back();
        doing.pop_back();
        complete(row_of(record), record, last_ns_);
      }
  }

 private:
  static const EventRow& row_of(const Record& record) noexcept {
    return kEvents[static_cast<std::size_t>(record.event)];
  }
  std::vector<Record>& stack(std::uint16_t thread) noexcept {
    if (thread >= threads_.size()) threads_.resize(thread + 1u);
    return threads_[thread];
  }

  void finish(const EventRow& row, const Record& record) noexcept {
    const auto found = open_.find(record.id);
    if (found == open_.end()) return;
    head(row, record, 'e', found->second);
    args(row, record);
    open_.erase(found);
  }
  void end(const EventRow& row, const Record& record) noexcept {
    std::vector<Record>& doing = stack(record.thread);
    if (doing.empty()) return;
    const Record begun = doing.back();
    doing.pop_back();
    complete(row, begun, record.ns);
  }
  void complete(const EventRow& row, const Record& begun, std::int64_t end_ns) noexcept {
    head(row, begun, 'X', 0);
    std::fputs(",\"dur\":", out_);
    put_micros(out_, end_ns - begun.ns);
    args(row, begun);
  }
  void head(const EventRow& row, const Record& record, char phase, std::uint64_t id) noexcept {
    const char* name = row.shown;  // a call has its own
    if (record.event == TraceEvent::call_begin)
      name = reinterpret_cast<const char*>(static_cast<std::intptr_t>(record.a));
    std::fprintf(out_, ",\n{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"%c\",\"pid\":%d,\"tid\":%d,\"ts\":", name,
                 row.shown, phase, rank_, record.thread);
    put_micros(out_, record.ns - trace_.start_.ns);
    if (id != 0) std::fprintf(out_, ",\"id\":\"%d.%llu\"", rank_, static_cast<unsigned long long>(id));
  }
  void args(const EventRow& row, const Record& record) noexcept {
    const std::int64_t values[] = {record.a, record.b, record.c};
    std::fputs(",\"args\":{", out_);
    bool more = false;
    for (int i = 0; i < 3; ++i) {
      const char* name = row.names[i];
      if (*name == '\0') continue;
      const bool is_text = *name == '*';
      if (more) std::fputc(',', out_);
      more = true;
      put_text(out_, is_text ? name + 1 : name);
      std::fputc(':', out_);
      if (is_text)
        put_text(out_, reinterpret_cast<const char*>(static_cast<std::intptr_t>(values[i])));
      else
        std::fprintf(out_, "%lld", static_cast<long long>(values[i]));
    }
    std::fputs("}}", out_);
  }

  std::FILE* out_;
  const Trace& trace_;
  int rank_;
  std::uint64_t ids_ = 0;
  std::int64_t last_ns_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> open_;  // id of a start: its number in the file
  std::vector<std::vector<Record>> threads_;
};

bool Trace::write(std::FILE* out, const TraceFacts& facts) const noexcept {
  const std::uint64_t lost = first_;
  std::fprintf(out, "{\"displayTimeUnit\":\"ns\",\n\"herald\":{\"rank\":%d,\"size\":%d,\"host\":", facts.rank,
               facts.size);
  put_text(out, facts.host.c_str());
  std::fputs(",\"clock\":", out);
  put_text(out, facts.clock.c_str());
  std::fprintf(out, ",\"link_mbit\":%.0f,\"cores\":%u", facts.link_mbit, facts.cores);
  std::fprintf(out, ",\"start_ns\":%lld,\"events\":%llu,\"lost\":%llu},\n\"traceEvents\":[\n",
               static_cast<long long>(start_.ns), static_cast<unsigned long long>(count_ - lost),
               static_cast<unsigned long long>(lost));
  std::fprintf(
      out, "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":0,\"args\":{\"name\":", facts.rank);
  put_text(out, ("rank " + std::to_string(facts.rank) + " on " + facts.host).c_str());
  std::fprintf(
      out,
      "}},\n{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":%d,\"tid\":0,\"args\":{\"sort_index\":%d}}",
      facts.rank, facts.rank);
  Writer writer(out, *this, facts.rank);
  for (std::uint64_t i = lost; i < count_; ++i) writer.event(ring_[i & (most_ - 1)]);
  writer.rest();
  std::fputs("\n]}\n", out);
  return std::fflush(out) == 0 && std::ferror(out) == 0;
}

std::string trace_path(const std::string& pattern, const TraceFacts& facts) {
  std::string path;
  bool ranked = false;
  std::size_t name_at = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (next == 'r')
      path += std::to_string(facts.rank), ranked = true, ++i;
    else if (next == 'h')
      path += facts.host, ++i;
    else if (next == '%')
      path += '%', ++i;
    else
      path += pattern[i];
    if (pattern[i] == '/') name_at = path.size();
  }
  if (ranked || facts.size == 1) return path;
  const std::size_t dot = path.rfind('.');
  const std::size_t at = dot == std::string::npos || dot <= name_at ? path.size() : dot;
  return path.insert(at, '.' + std::to_string(facts.rank));
}

}  // namespace herald
