// SPDX-License-Identifier: BSD-3-Clause
// mpi/comm/introduction.hpp: two groups of processes that may belong to different jobs become an
// inter-communicator. All members of both groups call it; their roots have a channel to each other.
//
//   1. The roots exchange sizes and a context; each tells its group.
//   2. Each member reserves ids for the other group, and gives its card to its root (engine/foreign.hpp).
//   3. The roots exchange the cards of their groups; each member attaches the memory of those on its host.
//   4. The roots exchange which members could; each member adds the members of the other group. Two share
//      memory if both could.
//   5. The roots exchange whether all are added. Then all have the inter-communicator, or none.
#pragma once
#include <string>

#include "mpi/core/call.hpp"
#include "wire/cipher.hpp"

namespace herald::mpi {

// The connection between the roots of two groups.
class Channel {
 public:
  virtual ~Channel() = default;
  // A message each way. False with `why`: the other root is gone.
  virtual bool exchange(const std::string& out, std::string& in, std::string& why) = 0;
  // Of both groups; only the two roots know it so far.
  virtual wire::SecretKey secret() const noexcept = 0;
};

// The root of a group brings it to the introduction; the other members learn of a failure from it.
struct Meeting {
  Channel* channel = nullptr;  // at the root
  bool lower = false;          // differs between the groups; known to the root
  int error = MPI_SUCCESS;     // and then:
  std::string why;
};

// Collective over `local`, an intra-communicator. Null: the call has failed, at all members.
Comm* introduce(Call& call, Comm& local, int root, const Meeting& meeting) noexcept;

}  // namespace herald::mpi
