// SPDX-License-Identifier: BSD-3-Clause
// model/baselines.hpp: the parameters of a cluster as the LogP and the Postal model see them, to set their
// predictions beside ours as figure 2 of the paper does. The evaluator walks the same schedules with them.
// Both count packets of one length, know no interference of sends and receives, and no full port.
#pragma once
#include "model/parameters.hpp"

namespace herald::model {

// o_s and o_r at the processors, L, and g between the packets of a port.
Parameters logp_parameters(const Parameters& measured) noexcept;
// LogP with o = 0: lambda is the whole time of a packet.
Parameters postal_parameters(const Parameters& measured) noexcept;

}  // namespace herald::model
