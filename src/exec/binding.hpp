// SPDX-License-Identifier: BSD-3-Clause
// exec/binding.hpp: what differs between two runs of the same plan.
#pragma once
#include <cstdint>

#include "coll/check.hpp"

namespace herald::exec {

// inout[i] = in[i] op inout[i], with the operation and datatype of the caller. Both buffers point to where
// the item at displacement 0 is. The caller has checked that the operation is defined on the datatype.
struct Reduction {
  void (*function)(const Reduction& self, const void* in, void* inout, std::int64_t count) noexcept = nullptr;
  void* op = nullptr;        // of the caller; it outlives the run
  void* datatype = nullptr;  // as above

  void apply(const void* in, void* inout, std::int64_t count) const noexcept {
    function(*this, in, inout, count);
  }
};

// How the runs of all ranks are matched.
struct Matching {
  bool persistent = false;  // by the order in which ranks make their runners; else by the order of the runs
  int agreement = -1;       // by this number, without being counted
};

struct Binding {
  const void* send = nullptr;
  void* recv = nullptr;
  Reduction reduction;
  Matching matching;
  const coll::Facts* facts = nullptr;  // of a plan that begins with a check; copied
};

}  // namespace herald::exec
