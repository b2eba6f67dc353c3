// SPDX-License-Identifier: BSD-3-Clause
// launch/environment.hpp: computes the environment of a program. Pure: callers pass the environment in.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec.hpp"

namespace herald::launch {

using Environment = std::vector<std::string>;  // NAME=VALUE

std::optional<std::string> env_value(const Environment& env, std::string_view name);

// The base of `app` if it sets one, else that of `job`; edits of `job` come first.
EnvRule effective_rule(const EnvRule& job, const EnvRule& app);

// Applies the rule to `inherited`, and removes variables by which another launcher identifies its processes.
Environment make_environment(const Environment& inherited, const EnvRule& rule);

}  // namespace herald::launch
