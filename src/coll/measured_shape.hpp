// SPDX-License-Identifier: BSD-3-Clause
// coll/measured_shape.hpp: what a measured network changes in the shape of a communicator between hosts.
#pragma once
#include "coll/shape.hpp"
#include "model/sizes.hpp"

namespace herald::coll {

inline Shape measured_shape(const Shape& shape, const model::Parameters& parameters) noexcept {
  Shape measured = shape;
  if (shape.hosts == 1) return measured;
  measured.incast = incast_of(parameters);
  measured.segment_bytes = model::sizes_between_hosts(parameters).segment_bytes;
  return measured;
}

}  // namespace herald::coll
