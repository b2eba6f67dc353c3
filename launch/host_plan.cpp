// SPDX-License-Identifier: BSD-3-Clause
#include "host_plan.hpp"

#include <algorithm>
#include <numeric>

#include "fields.hpp"
#include "text.hpp"

namespace herald::launch {
namespace {

constexpr const char* kVersion = "herald-host-plan-3";

}  // namespace

std::string encode(const HostPlan& plan) {
  FieldWriter out;
  out.field(kVersion);
  for (const std::string* text :
       {&plan.host, &plan.job_id, &plan.job_key, &plan.mapping, &plan.bind_by.bind_to, &plan.bind_by.map_by,
        &plan.bind_by.rank_by, &plan.output.out_pattern, &plan.output.err_pattern})
    out.field(*text);
  out.number(plan.size);
  out.number(plan.universe);
  for (const bool flag :
       {plan.label, plan.verbose, plan.keep_going, plan.output.timestamps, plan.output.merge_streams,
        plan.output.print_codes, plan.output.report_bindings, plan.stack_traces})
    out.number(flag ? 1 : 0);
  out.number(static_cast<int>(plan.stdin_to));
  out.number(plan.stdin_rank);
  out.number(plan.ranks.size());
  for (const int rank : plan.ranks) out.number(rank);
  out.number(plan.apps.size());
  for (const HostApp& app : plan.apps) {
    out.list(app.argv);
    out.field(app.wdir);
    out.list(app.env);
    out.number(app.count);
  }
  return out.text();
}

bool decode(std::string_view text, HostPlan& plan) {
  FieldReader in(text);
  if (in.field() != kVersion) return false;
  for (std::string* to :
       {&plan.host, &plan.job_id, &plan.job_key, &plan.mapping, &plan.bind_by.bind_to, &plan.bind_by.map_by,
        &plan.bind_by.rank_by, &plan.output.out_pattern, &plan.output.err_pattern})
    *to = in.field();
  in.number(plan.size);
  in.number(plan.universe);
  for (bool* flag :
       {&plan.label, &plan.verbose, &plan.keep_going, &plan.output.timestamps, &plan.output.merge_streams,
        &plan.output.print_codes, &plan.output.report_bindings, &plan.stack_traces})
    in.number(*flag);
  in.number(plan.stdin_to);
  in.number(plan.stdin_rank);
  plan.ranks.resize(in.length());
  for (int& rank : plan.ranks) in.number(rank);
  plan.apps.resize(in.length());
  for (HostApp& app : plan.apps) {
    in.list(app.argv);
    app.wdir = in.field();
    in.list(app.env);
    in.number(app.count);
  }
  return in.ok() && !plan.ranks.empty();
}

std::vector<std::vector<int>> spread(const HostList& list, int total, std::int64_t ppn, bool by_node) {
  std::vector<std::vector<int>> out(list.hosts.size());
  std::vector<std::int64_t> slots;
  for (const Host& host : list.hosts) slots.push_back(ppn > 0 ? ppn : std::max<std::int64_t>(host.slots, 1));
  const bool fits = total <= std::accumulate(slots.begin(), slots.end(), std::int64_t{0});
  for (int rank = 0; rank < total;) {
    for (std::size_t host = 0; host < out.size() && rank < total; ++host) {
      const bool full = fits && static_cast<std::int64_t>(out[host].size()) >= slots[host];
      const std::int64_t count = by_node ? (full ? 0 : 1) : slots[host];
      for (std::int64_t i = 0; i < count && rank < total; ++i) out[host].push_back(rank++);
    }
  }
  return out;
}

std::string process_mapping(const std::vector<std::vector<int>>& ranks) {
  std::vector<std::pair<int, std::size_t>> order;  // rank, host
  for (std::size_t host = 0; host < ranks.size(); ++host)
    for (const int rank : ranks[host]) order.emplace_back(rank, host);
  std::sort(order.begin(), order.end());
  std::string text = "(vector";
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && order[end].second == order[i].second) ++end;
    text += cat(",(", order[i].second, ",1,", end - i, ")");
    i = end;
  }
  return text + ")";
}

Environment without_local(const Environment& env) {
  static constexpr std::string_view kLocal[] = {"HOSTNAME=", "HOST=",   "SSH_",  "XDG_", "DBUS_",
                                                "DISPLAY=",  "TMPDIR=", "_=",    "TTY=", "WINDOWID=",
                                                "PWD=",      "OLDPWD=", "SHLVL="};
  Environment out;
  for (const std::string& entry : env)
    if (std::none_of(std::begin(kLocal), std::end(kLocal),
                     [&](std::string_view name) { return entry.starts_with(name); }))
      out.push_back(entry);
  return out;
}

}  // namespace herald::launch
