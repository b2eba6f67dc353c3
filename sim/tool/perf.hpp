// SPDX-License-Identifier: BSD-3-Clause
// sim/tool/perf.hpp: the share of line rate that the protocols reach, in virtual time. Measurements, not
// tests.
#pragma once

namespace herald::sim {

void print_performance(unsigned repetitions);

}  // namespace herald::sim
