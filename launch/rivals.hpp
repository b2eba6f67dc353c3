// SPDX-License-Identifier: BSD-3-Clause
// launch/rivals.hpp: wheels of other MPI libraries in the Python environment that this mpiexec belongs to.
#pragma once
#include <string>

namespace herald::launch {

// Below PREFIX: a wheel that installs bin/mpiexec too, so that files of both are mixed. Empty: none, or
// PREFIX is no Python environment.
std::string rival_wheel(const std::string& prefix);
// A note for the user; empty: none.
std::string rival_note();

}  // namespace herald::launch
