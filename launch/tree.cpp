// SPDX-License-Identifier: BSD-3-Clause
#include "tree.hpp"

#include <algorithm>

#include "fields.hpp"

namespace herald::launch {
namespace {

constexpr const char* kTreeVersion = "herald-tree-plan-1";

}  // namespace

std::string encode(const TreePlan& plan) {
  FieldWriter out;
  for (const std::string& text : {std::string(kTreeVersion), plan.job_id, plan.job_key}) out.field(text);
  out.number(plan.ranks);
  for (const bool flag : {plan.verbose, plan.keep_going, plan.stack_traces}) out.number(flag ? 1 : 0);
  out.number(static_cast<int>(plan.stdin_to));
  out.number(plan.stdin_link);
  out.number(plan.links.size());
  for (const TreeLink& link : plan.links) {
    out.field(link.host);
    out.list(link.command);
    out.field(link.message);
  }
  return out.text();
}

bool decode(std::string_view text, TreePlan& plan) {
  FieldReader in(text);
  if (in.field() != kTreeVersion) return false;
  plan.job_id = in.field();
  plan.job_key = in.field();
  in.number(plan.ranks);
  for (bool* flag : {&plan.verbose, &plan.keep_going, &plan.stack_traces}) in.number(*flag);
  in.number(plan.stdin_to);
  in.number(plan.stdin_link);
  plan.links.resize(in.length());
  for (TreeLink& link : plan.links) {
    link.host = in.field();
    in.list(link.command);
    link.message = in.field();
  }
  return in.ok() && !plan.links.empty();
}

std::vector<std::size_t> group_bounds(std::size_t links) {
  const std::size_t groups = std::min(links, kMostLinks);
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i <= groups; ++i) out.push_back(groups == 0 ? 0 : i * links / groups);
  return out;
}

}  // namespace herald::launch
