// SPDX-License-Identifier: BSD-3-Clause
#include "watch/view_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace herald::watch {
namespace {

using json = nlohmann::json;

template <std::size_t N>
void copy_text(std::array<char, N>& room, const std::string& text) {
  room.fill('\0');
  std::copy_n(text.begin(), std::min(text.size(), N - 1), room.begin());
}

json wait_to_json(const ShownWait& wait) {
  json ops = json::array(), unexpected = json::array();
  for (std::uint32_t i = 0; i < wait.shown; ++i) {
    const WaitedOp& op = wait.ops[i];
    ops.push_back({static_cast<int>(op.kind), op.exact_tag, op.peer, op.member, op.tag});
  }
  for (std::uint32_t i = 0; i < wait.unexpected_count; ++i)
    unexpected.push_back({wait.unexpected[i].peer, wait.unexpected[i].messages});
  const std::vector<int> members(wait.members.begin(), wait.members.begin() + wait.member_count);
  return {{"since", wait.since_ns},   {"context", wait.context},
          {"call", wait.call.data()}, {"comm", wait.comm.data()},
          {"size", wait.comm_size},   {"any", wait.any},
          {"total", wait.total},      {"ops", ops},
          {"members", members},       {"unexpected", unexpected}};
}

ShownWait wait_from_json(const json& from) {
  ShownWait wait{};
  wait.since_ns = from.at("since");
  wait.context = from.at("context");
  copy_text(wait.call, from.at("call"));
  copy_text(wait.comm, from.at("comm"));
  wait.comm_size = from.at("size");
  wait.any = from.at("any");
  for (const json& op : from.at("ops")) {
    const int kind = op.at(0);
    if (wait.shown == ShownWait::kOps || kind < 0 || kind > static_cast<int>(WaitedKind::other)) continue;
    wait.ops[wait.shown++] = {static_cast<WaitedKind>(kind), op.at(1), op.at(2), op.at(3), op.at(4)};
  }
  wait.total = std::max(from.at("total").get<std::uint32_t>(), wait.shown);
  for (const json& member : from.at("members"))
    if (wait.member_count < ShownWait::kMembers) wait.members[wait.member_count++] = member;
  for (const json& each : from.at("unexpected"))
    if (wait.unexpected_count < ShownWait::kUnexpected)
      wait.unexpected[wait.unexpected_count++] = {each.at(0), each.at(1)};
  return wait;
}

RankView view_from_json(const json& from) {
  RankView view;
  view.rank = from.at("rank");
  view.size = from.at("size");
  view.pid = from.at("pid");
  view.job = from.at("job");
  view.host = from.at("host");
  view.phase = static_cast<RankPhase>(std::min(from.at("phase").get<std::uint32_t>(), 3U));
  view.answered = from.at("answered");
  view.counted_ns = from.at("counted");
  view.read_ns = from.at("read");
  const auto counters = from.at("counters").get<std::vector<std::uint64_t>>();
  std::copy_n(counters.begin(), std::min(counters.size(), view.counters.size()), view.counters.begin());
  for (const json& wait : from.at("waits")) view.waits.push_back(wait_from_json(wait));
  return view;
}

}  // namespace

std::string to_line(const std::vector<RankView>& views) {
  json out = json::array();
  for (const RankView& view : views) {
    json waits = json::array();
    for (const ShownWait& wait : view.waits) waits.push_back(wait_to_json(wait));
    out.push_back({{"rank", view.rank},
                   {"size", view.size},
                   {"pid", view.pid},
                   {"job", view.job},
                   {"host", view.host},
                   {"phase", static_cast<std::uint32_t>(view.phase)},
                   {"answered", view.answered},
                   {"counted", view.counted_ns},
                   {"read", view.read_ns},
                   {"counters", view.counters},
                   {"waits", waits}});
  }
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

bool from_line(const std::string& line, std::vector<RankView>& views) {
  try {
    const json all = json::parse(line);
    std::vector<RankView> out;
    for (const json& each : all) out.push_back(view_from_json(each));
    views = std::move(out);
    return all.is_array();
  } catch (const json::exception&) {
    return false;
  }
}

}  // namespace herald::watch
