// SPDX-License-Identifier: BSD-3-Clause
// sim/tool/perf.hpp: how much of a line the protocols use, in virtual time. Figures, not tests.
#pragma once

namespace herald::sim {

void print_performance(unsigned repetitions);

}  // namespace herald::sim
