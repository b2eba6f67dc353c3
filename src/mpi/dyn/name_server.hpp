// SPDX-License-Identifier: BSD-3-Clause
// mpi/dyn/name_server.hpp: where names of ports are kept: with the name server of the knob `names`, else with
// the launcher.
#pragma once
#include <string>

#include "base/status.hpp"

namespace herald::mpi {

// ok; not_found: no such name; bad_argument: published already; others: no answer.
Status publish(const std::string& service, const std::string& port, std::string& why) noexcept;
Status lookup(const std::string& service, std::string& port, std::string& why) noexcept;
Status unpublish(const std::string& service, std::string& why) noexcept;

}  // namespace herald::mpi
