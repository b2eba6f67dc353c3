// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_split_type: splits by shared memory or by hardware.
#include "calls.hpp"
#include "mpi/coll/internal.hpp"
#include "mpi/comm/comm.hpp"
#include "mpi/core/hardware.hpp"
#include "mpi/core/info.hpp"

namespace herald::mpi::api {
namespace {

constexpr const char* kKindKey = "mpi_hw_resource_type";
constexpr int kHost = -1;                 // by shared memory, wider than any kind of hardware
constexpr int kNothing = kHardwareCount;  // no kind that would split, or an unknown one

// Location and arguments of a member. Every member sends one, whatever the split type, since members may mix
// any type with MPI_UNDEFINED.
struct Member {
  std::int32_t taking_part, key;
  std::uint64_t context;
  std::int32_t host;  // the first member that shares memory with this one
  HardwarePlace place;
};

int host_of(const Comm& comm) noexcept {
  for (int i = 0; i < comm.size; ++i)
    if (i == comm.rank || runtime().engine().peers().is_local(comm.peer(i))) return i;
  return comm.rank;
}

// The widest kind of hardware that splits the participants into several groups and leaves none out.
int dividing_kind(const std::vector<Member>& members, const Member& mine) noexcept {
  for (int kind = kHost; kind < kHardwareCount; ++kind) {
    bool divides = false, all_bound = true;
    for (const Member& member : members) {
      if (member.taking_part == 0) continue;
      const auto id = [kind](const Member& s) { return kind == kHost ? s.host : s.place.id[kind]; };
      divides = divides || id(member) != id(mine);
      all_bound = all_bound && id(member) >= 0;
    }
    if (divides && all_bound) return kind;
  }
  return kNothing;
}

// The kind to split by. Without the key, or with an unknown one, no member gets a communicator.
int chosen_kind(int split_type, Info* info, const std::vector<Member>& members, const Member& mine) noexcept {
  if (split_type == MPI_COMM_TYPE_SHARED) return kHost;
  if (split_type == MPI_COMM_TYPE_HW_UNGUIDED) {
    const int kind = dividing_kind(members, mine);
    if (info != nullptr && kind != kNothing)
      info_put(*info, kKindKey, kind == kHost ? "mpi_shared_memory" : kHardwareKinds[kind]);
    return kind;
  }
  const std::string* requested = info == nullptr ? nullptr : info_value(*info, kKindKey);
  if (requested == nullptr) return kNothing;
  if (*requested == "mpi_shared_memory") return kHost;
  const int kind = hardware_kind(requested->c_str());
  return kind < 0 ? kNothing : kind;
}

// Together: on the same host, and bound to the same instance of hardware of that kind.
std::vector<SplitEntry> entries_of(const std::vector<Member>& members, const Member& mine,
                                   int kind) noexcept {
  std::vector<SplitEntry> entries;
  entries.reserve(members.size());
  for (const Member& member : members) {
    bool together =
        mine.taking_part != 0 && member.taking_part != 0 && kind != kNothing && member.host == mine.host;
    if (together && kind >= 0)
      together = mine.place.id[kind] >= 0 && member.place.id[kind] == mine.place.id[kind];
    entries.push_back({together ? 0 : MPI_UNDEFINED, member.key, member.context});
  }
  return entries;
}

}  // namespace

int comm_split_type(Call& call, Comm* comm, int split_type, int key, Info* info, MPI_Comm* newcomm) {
  const bool taking_part = split_type != MPI_UNDEFINED;
  if (taking_part && (split_type < MPI_COMM_TYPE_SHARED || split_type > MPI_COMM_TYPE_RESOURCE_GUIDED))
    return call.fail(MPI_ERR_ARG,
                     "argument 2 (split_type) is %d; use MPI_COMM_TYPE_SHARED, MPI_COMM_TYPE_HW_GUIDED, "
                     "MPI_COMM_TYPE_HW_UNGUIDED, MPI_COMM_TYPE_RESOURCE_GUIDED or MPI_UNDEFINED",
                     split_type);
  Comm& all = comm->remote == nullptr ? *comm : *comm->both;
  Member mine{taking_part ? 1 : 0, key, taking_part ? propose_context() : 0, host_of(all), {}};
  if (taking_part && split_type != MPI_COMM_TYPE_SHARED) mine.place = hardware_place();
  std::vector<Member> members(static_cast<std::size_t>(all.size));
  const int error = allgather_bytes(all, &mine, members.data(), sizeof mine);
  if (error != MPI_SUCCESS) return call.fail(error, "the members could not exchange where they run");
  const int kind = taking_part ? chosen_kind(split_type, info, members, mine) : kNothing;
  const std::vector<SplitEntry> entries = entries_of(members, mine, kind);
  const Comm* made = comm->remote == nullptr ? join(*comm, entries) : join_inter(*comm, entries);
  *newcomm = made == nullptr ? MPI_COMM_NULL : handle_of(made);
  return MPI_SUCCESS;
}

}  // namespace herald::mpi::api
