// SPDX-License-Identifier: BSD-3-Clause
// launch/mapping_options.hpp: the options that say where ranks run and how they are numbered. Pure.
// In:  an option and its arguments, in the spellings of Open MPI and of Hydra.
// Out: MappingSpec, or a UsageError that names the option and the remedy.
#pragma once
#include <string>
#include <vector>

#include "options.hpp"
#include "spec.hpp"

namespace herald::launch {

// `shown`: the option as the user wrote it. Other options than those of mapping are not for this function.
void apply_mapping_option(MappingSpec& mapping, Opt option, const std::string& shown,
                          const std::vector<std::string>& args);

// Throws UsageError if options contradict each other or would silently change where ranks run.
void check_mapping(const JobSpec& spec);

// For the user: parameters of Open MPI that say where ranks run have no effect with other launchers.
std::vector<std::string> notes_on_policies(const PassedOn& passed_on);

}  // namespace herald::launch
