// SPDX-License-Identifier: BSD-3-Clause
// tools/replay/read_rank.cpp: the timeline of one rank as a sequence of computation, operations and waits.
// The messages of a collective are left out: the model predicts it as a whole.
#include <algorithm>

#include "replay/replay.hpp"

namespace herald::tools {
namespace {

using Kind = model::Action::Kind;

struct Span {
  double begin = 0, end = 0;
  std::string name;
};

// These return at once; what they start completes in later calls.
bool starts_only(const std::string& call) {
  return (call.starts_with("MPI_I") && !call.starts_with("MPI_In")) || call.starts_with("MPI_Start") ||
         call.starts_with("MPI_Pready");
}
bool completes(const std::string& call) {
  return call.starts_with("MPI_Wait") || call.starts_with("MPI_Test");
}

// Neighborhood collectives, and those between two groups, count as the messages that they consist of.
bool is_predictable(const RankOperation& call) {
  for (int i = 0; i < coll::kOps; ++i) {
    const auto op = static_cast<coll::Op>(i);
    if (call.name == name_of(op)) return coll::find_algorithm(op, call.algorithm) != nullptr;
  }
  return false;
}

class Reader {
 public:
  Reader(const Timeline& line, double shift_ns) : line_(line), shift_(shift_ns) {}

  RankLine read() {
    find_calls();
    for (const Json& event : line_.events) {
      const std::string phase = event.value("ph", "");
      if (phase == "b") start(event);
      if (phase == "e") finish(event);
      if (phase == "i") note(event);
    }
    merge_waits();
    add_marks();
    return std::move(out_);
  }

 private:
  static constexpr std::size_t kDropped = ~std::size_t{0};
  enum class What : std::uint8_t { wait_end, call_end, call_begin, start, wait_begin, await };
  struct Item {
    double at;
    What what;
    std::size_t operation;
  };

  double time_of(const Json& event) const { return event.value("ts", 0.0) * 1e3 + shift_; }
  static Json args_of(const Json& event) { return event.value("args", Json::object()); }
  static std::int64_t number(const Json& args, const char* name, std::int64_t without = 0) {
    return args.value(name, without);
  }

  // The main thread makes most calls.
  void find_calls() {
    std::map<int, std::vector<Span>> calls, waits;
    for (const Json& event : line_.events) {
      const std::string what = event.value("cat", "");
      if (event.value("ph", "") != "X" || (what != "call" && what != "wait")) continue;
      const double begin = time_of(event);
      (what == "call" ? calls : waits)[event.value("tid", 0)].push_back(
          {begin, begin + event.value("dur", 0.0) * 1e3, event.value("name", "")});
    }
    out_.threads = calls.size();
    for (auto& [thread, spans] : calls)
      if (spans.size() > calls_.size()) main_ = thread, calls_ = spans;
    waits_ = waits[main_];
    std::sort(calls_.begin(), calls_.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
    for (const Span& call : calls_) {
      if (call.name == "MPI_Finalize") {
        out_.end_ns = call.begin;
        return;
      }
      out_.end_ns = std::max(out_.end_ns, call.end);
    }
  }

  void start(const Json& event) {
    RankOperation operation;
    operation.name = event.value("name", "");
    operation.start = time_of(event);
    const Json args = args_of(event);
    operation.is_collective = operation.name == "collective";
    operation.is_send = operation.name == "send";
    operation.peer = number(args, operation.is_send ? "to" : "from", -1);
    operation.bytes = number(args, "bytes");
    operation.tag = number(args, "tag", -1);
    const std::string id = event.value("id", "");
    if (operation.is_collective) {
      operation.name = args.value("operation", "");
      operation.algorithm = args.value("algorithm", "");
      operation.number = number(args, "number");
      if (is_predictable(operation)) open_numbers_.push_back(operation.number);
    } else if (operation.tag >= 0 && std::find(open_numbers_.begin(), open_numbers_.end(),
                                               operation.tag >> 8) != open_numbers_.end()) {
      open_[id] = kDropped;
      return;
    }
    open_[id] = last_ = out_.operations.size();
    out_.operations.push_back(std::move(operation));
  }

  void finish(const Json& event) {
    const auto found = open_.find(event.value("id", ""));
    if (found == open_.end()) return;
    const std::size_t index = found->second;
    open_.erase(found);
    if (index == kDropped) return;
    RankOperation& operation = out_.operations[index];
    operation.end = time_of(event);
    if (operation.is_collective) {
      const auto open = std::find(open_numbers_.begin(), open_numbers_.end(), operation.number);
      if (open != open_numbers_.end() && is_predictable(operation)) open_numbers_.erase(open);
      const Span* const call = call_at(operation.start);
      if (call != nullptr && !starts_only(call->name)) waits_.push_back({operation.start, operation.end, ""});
    } else if (!operation.is_send) {
      const Json args = args_of(event);
      operation.peer = number(args, "from", -1);
      operation.bytes = number(args, "bytes");
      operation.tag = number(args, "tag", -1);
    }
  }

  void note(const Json& event) {
    const std::string name = event.value("name", "");
    const Json args = args_of(event);
    if (name == "communicator")
      out_.rank_in[number(args, "communicator")] = static_cast<int>(number(args, "rank"));
    if (name != "collective call" || last_ >= out_.operations.size()) return;
    RankOperation& operation = out_.operations[last_];
    operation.bytes = number(args, "bytes");
    operation.communicator = number(args, "communicator");
    operation.root = number(args, "root", -1);
  }

  const Span* call_at(double at) const {
    const auto after = std::upper_bound(calls_.begin(), calls_.end(), at,
                                        [](double time, const Span& span) { return time < span.begin; });
    if (after == calls_.begin() || (after - 1)->end < at) return nullptr;
    return &*(after - 1);
  }

  void merge_waits() {
    std::sort(waits_.begin(), waits_.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
    std::vector<Span> merged;
    for (const Span& wait : waits_) {
      if (!merged.empty() && wait.begin <= merged.back().end)
        merged.back().end = std::max(merged.back().end, wait.end);
      else
        merged.push_back(wait);
    }
    waits_ = std::move(merged);
  }

  // When the program needs the operation: in the call that started it, or in the next one that completes
  // some. Negative: never.
  double needed_at(const RankOperation& operation) const {
    if (operation.end < 0) return -1;
    const Span* const call = call_at(operation.start);
    if (call != nullptr && !starts_only(call->name) && operation.end <= call->end) return operation.end;
    auto next = std::lower_bound(calls_.begin(), calls_.end(), operation.end,
                                 [](const Span& span, double time) { return span.end < time; });
    while (next != calls_.end() && !completes(next->name)) ++next;
    return next == calls_.end() ? -1 : std::max(next->begin, operation.end);
  }

  void add_marks() {
    std::vector<Item> items;
    for (const Span& call : calls_)
      items.push_back({call.begin, What::call_begin, 0}), items.push_back({call.end, What::call_end, 0});
    for (const Span& wait : waits_)
      items.push_back({wait.begin, What::wait_begin, 0}), items.push_back({wait.end, What::wait_end, 0});
    for (std::size_t i = 0; i < out_.operations.size(); ++i) {
      const RankOperation& operation = out_.operations[i];
      if (operation.end < 0 || (operation.is_collective && !is_predictable(operation))) continue;
      items.push_back({operation.start, What::start, i});
      if (const double needed = needed_at(operation); needed >= 0) items.push_back({needed, What::await, i});
    }
    // At the same moment a wait ends after what it waited for.
    std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
      if (a.at != b.at) return a.at < b.at;
      const auto order = [](What what) { return what == What::wait_end ? 10 : static_cast<int>(what); };
      return order(a.what) < order(b.what);
    });
    double before = 0;
    for (const Item& item : items) {
      if (item.at > out_.end_ns) break;
      pass(item.at - before);
      before = item.at;
      take(item);
    }
    pass(out_.end_ns - before);
  }

  void pass(double ns) {
    if (waiting_ > 0)
      waited_ += ns;
    else
      add_time(calling_ > 0 ? Kind::overhead : Kind::compute, ns);
  }
  void add_time(Kind kind, double ns) {
    if (ns <= 0) return;
    if (!out_.marks.empty() && out_.marks.back().kind == kind)
      out_.marks.back().ns += ns;
    else
      out_.marks.push_back({kind, 0, ns});
  }

  void take(const Item& item) {
    switch (item.what) {
      case What::call_begin: ++calling_; return;
      case What::call_end: --calling_; return;
      case What::wait_begin: ++waiting_, waited_ = 0, modelled_ = false; return;
      case What::wait_end:
        // After the last operation the call only returns; a wait for anything else stays as it was.
        if (--waiting_ == 0) add_time(modelled_ ? Kind::overhead : Kind::other, waited_);
        return;
      case What::start: {
        const RankOperation& operation = out_.operations[item.operation];
        const Kind kind = operation.is_collective ? Kind::join : operation.is_send ? Kind::send : Kind::recv;
        out_.marks.push_back({kind, item.operation, 0});
        return;
      }
      case What::await: {
        const RankOperation& operation = out_.operations[item.operation];
        const Kind kind = operation.is_collective ? Kind::await_join
                          : operation.is_send     ? Kind::await_send
                                                  : Kind::await_recv;
        out_.operations[item.operation].prompt = item.at == operation.end;
        out_.marks.push_back({kind, item.operation, 0});
        waited_ = 0, modelled_ = true;
        return;
      }
    }
  }

  const Timeline& line_;
  const double shift_;
  RankLine out_;
  int main_ = 0, calling_ = 0, waiting_ = 0;
  double waited_ = 0;
  bool modelled_ = false;
  std::vector<Span> calls_, waits_;
  std::map<std::string, std::size_t> open_;  // by id: index in operations
  std::vector<std::int64_t> open_numbers_;   // of collectives that run
  std::size_t last_ = kDropped;
};

}  // namespace

RankLine read_rank(const Timeline& line, double shift_ns) { return Reader(line, shift_ns).read(); }

}  // namespace herald::tools
