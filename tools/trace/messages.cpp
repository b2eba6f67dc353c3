// SPDX-License-Identifier: BSD-3-Clause
// trace/messages.cpp: which operations a call starts, and which receive took the message of which send.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

#include "trace/timeline.hpp"

namespace herald::tools {
namespace {

struct Span {
  double begin = 0, end = 0;
  Json* event = nullptr;
  std::string words;  // of the operations that start inside
  int operations = 0;
};

std::int64_t number(const Json& args, const char* name) { return args.value(name, std::int64_t{0}); }

std::string tag_text(std::int64_t tag) { return tag < 0 ? ", any tag" : fmt::format(", tag {}", tag); }

std::string operation_text(const Json& event) {
  const Json args = event.value("args", Json::object());
  const std::string name = event.value("name", "");
  if (name == "send")
    return fmt::format("to {}, {} bytes{}", number(args, "to"), number(args, "bytes"),
                       tag_text(number(args, "tag")));
  if (name == "receive") {
    const std::int64_t from = number(args, "from");
    return fmt::format("from {}{}", from < 0 ? "any" : std::to_string(from), tag_text(number(args, "tag")));
  }
  return "algorithm " + args.value("algorithm", "");
}

bool is_call(const Json& event) { return event.value("ph", "") == "X" && event.value("cat", "") == "call"; }

// A collective sends and receives too: its own words precede.
void add_operation(Span& span, const Json& event) {
  const bool collective = event.value("name", "") == "collective";
  if (span.operations++ == 0 || collective) span.words = operation_text(event);
}

}  // namespace

void name_calls(Timeline& line) {
  std::map<int, std::vector<Span>> threads;
  for (Json& event : line.events)
    if (is_call(event)) {
      const double begin = event.value("ts", 0.0);
      threads[event.value("tid", 0)].push_back({begin, begin + event.value("dur", 0.0), &event, "", 0});
    }
  for (auto& [thread, spans] : threads)
    std::sort(spans.begin(), spans.end(), [](const Span& x, const Span& y) { return x.begin < y.begin; });
  for (const Json& event : line.events) {
    const std::string phase = event.value("ph", "");
    const auto thread = threads.find(event.value("tid", 0));
    if (phase != "b" || thread == threads.end()) continue;
    const double at = event.value("ts", 0.0);
    auto after = std::upper_bound(thread->second.begin(), thread->second.end(), at,
                                  [](double time, const Span& span) { return time < span.begin; });
    if (after != thread->second.begin() && at <= (--after)->end) add_operation(*after, event);
  }
  for (auto& [thread, spans] : threads)
    for (Span& span : spans)
      if (!span.words.empty())
        (*span.event)["name"] = (*span.event)["name"].get<std::string>() + " " + span.words;
}

std::vector<Json> find_arrows(const Json& events) {
  using Key = std::tuple<int, int, std::int64_t, std::int64_t>;  // sender, receiver, tag, bytes
  std::map<Key, std::deque<const Json*>> sent;
  std::vector<Json> arrows;
  const auto add = [&](const Json& event, const char* phase) {
    Json arrow = {{"name", "message"},   {"cat", "message"},    {"ph", phase},      {"id", arrows.size() / 2},
                  {"pid", event["pid"]}, {"tid", event["tid"]}, {"ts", event["ts"]}};
    if (*phase == 'f') arrow["bp"] = "e";
    arrows.push_back(std::move(arrow));
  };
  for (const Json& event : events) {
    const std::string name = event.value("name", ""), phase = event.value("ph", "");
    if (!(name == "send" && phase == "b") && !(name == "receive" && phase == "e")) continue;
    const Json args = event.value("args", Json::object());
    const int here = event.value("pid", 0),
              there = static_cast<int>(number(args, phase == "b" ? "to" : "from"));
    const std::int64_t tag = number(args, "tag"), bytes = number(args, "bytes");
    if (phase == "b") {
      sent[{here, there, tag, bytes}].push_back(&event);
      continue;
    }
    auto& waiting = sent[{there, here, tag, bytes}];
    if (waiting.empty()) continue;  // the send is not in the timeline, or clocks of hosts differ
    add(*waiting.front(), "s");
    add(event, "f");
    waiting.pop_front();
  }
  return arrows;
}

void add_arrows(Json& events) {
  for (Json& arrow : find_arrows(events)) events.push_back(std::move(arrow));
  sort_by_time(events);
}

}  // namespace herald::tools
