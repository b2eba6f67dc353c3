// SPDX-License-Identifier: BSD-3-Clause
// launch/environment.cpp: see environment.hpp.
#include "environment.hpp"

#include <algorithm>
#include <unordered_map>

#include "text.hpp"

namespace herald::launch {
namespace {

// These variables give a process its rank and its launcher's address. If mpiexec runs inside a job of another
// launcher, its ranks must not inherit them.
bool belongs_to_other_job(std::string_view name) {
  static constexpr std::string_view kExact[] = {
      "PMI_FD",          "PMI_PORT",        "PMI_ID",           "PMI_RANK",       "PMI_SIZE",
      "PMI_SPAWNED",     "PMI_APPNUM",      "PMI_CONTROL_PORT", "PMI_HOSTNAME",   "PMI_JOBID",
      "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "HERALD_JOB_ID",    "HERALD_JOB_KEY", "HERALD_MPIEXEC_PID",
      "HERALD_RANK_PID", "HERALD_SPAWN_FD"};
  static constexpr std::string_view kPrefix[] = {"PMIX_NAMESPACE",   "PMIX_RANK",          "PMIX_SERVER_",
                                                 "PMIX_HOSTNAME",    "PMIX_SECURITY_MODE", "PMIX_GDS_MODULE",
                                                 "OMPI_COMM_WORLD_", "OMPI_UNIVERSE_SIZE"};
  return std::find(std::begin(kExact), std::end(kExact), name) != std::end(kExact) ||
         std::any_of(std::begin(kPrefix), std::end(kPrefix),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

std::string_view name_of(std::string_view entry) { return entry.substr(0, entry.find('=')); }

}  // namespace

std::optional<std::string> env_value(const Environment& env, std::string_view name) {
  for (const std::string& entry : env)
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name))
      return entry.substr(name.size() + 1);
  return std::nullopt;
}

EnvRule effective_rule(const EnvRule& job, const EnvRule& app) {
  EnvRule rule;
  const EnvRule& base = app.base != EnvBase::unset ? app : job;
  rule.base = base.base == EnvBase::unset ? EnvBase::all : base.base;
  rule.names = base.names;
  rule.edits = job.edits;
  rule.edits.insert(rule.edits.end(), app.edits.begin(), app.edits.end());
  return rule;
}

Environment make_environment(const Environment& inherited, const EnvRule& rule) {
  Environment out;
  std::unordered_map<std::string, std::size_t> place;
  const auto set = [&](std::string_view name, std::string entry) {
    const auto [at, fresh] = place.try_emplace(std::string(name), out.size());
    if (fresh)
      out.push_back(std::move(entry));
    else
      out[at->second] = std::move(entry);
  };
  for (const std::string& entry : inherited) {
    const std::string_view name = name_of(entry);
    if (name.empty() || name.size() == entry.size() || belongs_to_other_job(name)) continue;
    const bool listed = std::find(rule.names.begin(), rule.names.end(), name) != rule.names.end();
    if (rule.base == EnvBase::none || (rule.base == EnvBase::list && !listed)) continue;
    set(name, entry);
  }
  for (const EnvEdit& edit : rule.edits) {
    const auto value = edit.value ? edit.value : env_value(inherited, edit.name);
    if (value) set(edit.name, cat(edit.name, "=", *value));
  }
  return out;
}

}  // namespace herald::launch
