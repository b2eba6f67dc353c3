// SPDX-License-Identifier: BSD-3-Clause
// launch/environment.hpp: the environment that a program gets. Pure: the environment is handed in.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec.hpp"

namespace herald::launch {

using Environment = std::vector<std::string>;  // NAME=VALUE

std::optional<std::string> env_value(const Environment& env, std::string_view name);

// Where `app` says nothing, `job` decides; edits of `job` come first.
EnvRule effective_rule(const EnvRule& job, const EnvRule& app);

// What the rule leaves of `inherited`, without what another launcher left there for its own processes.
Environment make_environment(const Environment& inherited, const EnvRule& rule);

}  // namespace herald::launch
