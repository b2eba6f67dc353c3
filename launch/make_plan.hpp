// SPDX-License-Identifier: BSD-3-Clause
// launch/make_plan.hpp: from the specification of a job to plans: for this machine, for links to several
// hosts, and for the part of one host.
#pragma once
#include <string>
#include <vector>

#include "host_plan.hpp"
#include "launchers.hpp"
#include "plan.hpp"
#include "spec.hpp"
#include "tree.hpp"

namespace herald::launch {

inline constexpr int kUsageCode = 2;

struct StartError {
  int code;
  std::string message;
};

// All throw StartError or UsageError.
JobPlan plan_job(const JobSpec& spec, const Placement& where, std::int64_t timeout_s, const Environment& env,
                 std::vector<std::string>& notes);
JobPlan plan_links(const JobSpec& spec, const Placement& where, std::int64_t timeout_s,
                   const Environment& env, const std::string& agent, std::vector<std::string>& notes);
// The hosts that this one reaches for mpiexec, itself first.
JobPlan plan_tree(const TreePlan& tree, int upstream, const Environment& env);
JobPlan plan_part(const HostPlan& part, int upstream, std::vector<std::string>& notes);

}  // namespace herald::launch
