// SPDX-License-Identifier: BSD-3-Clause
// Groups: ordered sets of processes.
#include <algorithm>
#include <unordered_map>

#include "calls.hpp"
#include "mpi/comm/comm.hpp"
#include "mpi/core/tables.hpp"

namespace herald::mpi {

Group* make_group(std::vector<std::int32_t> peers, Session* session) noexcept {
  Group* group = tables().groups.create();
  const std::int32_t me = runtime().engine().peers().rank();
  const auto found = std::find(peers.begin(), peers.end(), me);
  group->rank = found == peers.end() ? MPI_UNDEFINED : static_cast<int>(found - peers.begin());
  group->peers = std::move(peers);
  group->session = session;
  return group;
}

MPI_Group hand_out(Group* group) noexcept {
  if (!group->predefined) {
    ++group->users;
    retain(group);
  }
  return handle_of(group);
}

namespace api {
namespace {

// A new group for the program; all empty groups are MPI_GROUP_EMPTY.
MPI_Group give_group(std::vector<std::int32_t> peers, const Group& from) noexcept {
  if (peers.empty()) return MPI_GROUP_EMPTY;
  Group* group = make_group(std::move(peers), from.session);
  group->users = 1;  // the count that make_group gave
  return handle_of(group);
}

// The rank of each peer in a group.
class Places {
 public:
  explicit Places(const Group& group) noexcept {
    places_.reserve(group.peers.size());
    for (std::size_t i = 0; i < group.peers.size(); ++i) places_.emplace(group.peers[i], static_cast<int>(i));
  }
  int of(std::int32_t peer) const noexcept {
    const auto found = places_.find(peer);
    return found == places_.end() ? MPI_UNDEFINED : found->second;
  }

 private:
  std::unordered_map<std::int32_t, int> places_;
};

// The members of `group` that are in the other group, or those that are not.
std::vector<std::int32_t> members_of(const Group& group, const Group& other, bool in_other) noexcept {
  std::vector<std::int32_t> peers;
  const Places places(other);
  for (std::int32_t peer : group.peers)
    if ((places.of(peer) != MPI_UNDEFINED) == in_other) peers.push_back(peer);
  return peers;
}

Failed bad_rank(Call& call, int number, const char* name, int index, int rank, const Group& group) noexcept {
  if (group.size() == 0)
    return call.fail(MPI_ERR_RANK, "argument %d (%s[%d]) is %d, but the group is empty", number, name, index,
                     rank);
  return call.fail(MPI_ERR_RANK, "argument %d (%s[%d]) is %d; the group has ranks 0 to %d", number, name,
                   index, rank, group.size() - 1);
}

// Marks the ranks, each once; fails the call on one that is out of range or comes twice.
bool mark(Call& call, const Group& group, int n, const int ranks[], std::vector<char>& seen) noexcept {
  seen.assign(group.peers.size(), 0);
  if (n > 0 && ranks == nullptr)
    return call.fail(MPI_ERR_ARG, "argument 3 (ranks) is a null pointer, but argument 2 (n) is %d", n);
  for (int i = 0; i < n; ++i) {
    if (ranks[i] < 0 || ranks[i] >= group.size()) return bad_rank(call, 3, "ranks", i, ranks[i], group);
    if (std::exchange(seen[static_cast<std::size_t>(ranks[i])], 1) != 0)
      return call.fail(MPI_ERR_RANK,
                       "argument 3 (ranks[%d]) is %d, which is in the list before; give each once", i,
                       ranks[i]);
  }
  return true;
}

// The ranks that triplets of first, last and stride name.
bool expand(Call& call, const Group& group, int n, int ranges[][3], std::vector<int>& ranks) noexcept {
  if (n > 0 && ranges == nullptr)
    return call.fail(MPI_ERR_ARG, "argument 3 (ranges) is a null pointer, but argument 2 (n) is %d", n);
  std::vector<char> seen(group.peers.size(), 0);
  for (int i = 0; i < n; ++i) {
    const long first = ranges[i][0], last = ranges[i][1], stride = ranges[i][2];
    if (stride == 0)
      return call.fail(MPI_ERR_ARG, "argument 3 (ranges[%d]) has stride 0; it must not be 0", i);
    for (long at : {first, last}) {
      if (at >= 0 && at < group.size()) continue;
      return bad_rank(call, 3, "ranges", i, static_cast<int>(at), group);
    }
    if ((stride > 0 && first > last) || (stride < 0 && first < last))
      return call.fail(MPI_ERR_ARG, "argument 3 (ranges[%d]) goes from %ld to %ld by %ld: it names no rank",
                       i, first, last, stride);
    for (long at = first; stride > 0 ? at <= last : at >= last; at += stride) {
      if (std::exchange(seen[static_cast<std::size_t>(at)], 1) != 0)
        return call.fail(MPI_ERR_RANK, "argument 3 (ranges[%d]) names rank %ld, which is named before", i,
                         at);
      ranks.push_back(static_cast<int>(at));
    }
  }
  return true;
}

std::vector<std::int32_t> pick(const Group& group, const int* ranks, std::size_t n) noexcept {
  std::vector<std::int32_t> peers(n);
  for (std::size_t i = 0; i < n; ++i) peers[i] = group.peers[static_cast<std::size_t>(ranks[i])];
  return peers;
}

std::vector<std::int32_t> without(const Group& group, const std::vector<char>& left_out) noexcept {
  std::vector<std::int32_t> peers;
  for (std::size_t i = 0; i < left_out.size(); ++i)
    if (left_out[i] == 0) peers.push_back(group.peers[i]);
  return peers;
}

}  // namespace

int group_size(Call&, Group* group, int* size) {
  *size = group->size();
  return MPI_SUCCESS;
}

int group_rank(Call&, Group* group, int* rank) {
  *rank = group->rank;
  return MPI_SUCCESS;
}

int group_translate_ranks(Call& call, Group* group1, int n, const int ranks1[], Group* group2, int ranks2[]) {
  if (n > 0 && (ranks1 == nullptr || ranks2 == nullptr))
    return call.fail(MPI_ERR_ARG, "argument %d is a null pointer, but argument 2 (n) is %d",
                     ranks1 == nullptr ? 3 : 5, n);
  for (int i = 0; i < n; ++i)
    if (ranks1[i] != MPI_PROC_NULL && (ranks1[i] < 0 || ranks1[i] >= group1->size()))
      return bad_rank(call, 3, "ranks1", i, ranks1[i], *group1);
  const Places places(*group2);
  for (int i = 0; i < n; ++i)
    ranks2[i] = ranks1[i] == MPI_PROC_NULL ? MPI_PROC_NULL
                                           : places.of(group1->peers[static_cast<std::size_t>(ranks1[i])]);
  return MPI_SUCCESS;
}

int group_compare(Call&, Group* group1, Group* group2, int* result) {
  const int members = compare_members(*group1, *group2);
  *result = members == MPI_CONGRUENT ? MPI_IDENT : members;
  return MPI_SUCCESS;
}

int group_union(Call&, Group* group1, Group* group2, MPI_Group* newgroup) {
  std::vector<std::int32_t> peers = group1->peers, more = members_of(*group2, *group1, false);
  peers.insert(peers.end(), more.begin(), more.end());
  *newgroup = give_group(std::move(peers), group1->size() > 0 ? *group1 : *group2);
  return MPI_SUCCESS;
}

int group_intersection(Call&, Group* group1, Group* group2, MPI_Group* newgroup) {
  *newgroup = give_group(members_of(*group1, *group2, true), *group1);
  return MPI_SUCCESS;
}

int group_difference(Call&, Group* group1, Group* group2, MPI_Group* newgroup) {
  *newgroup = give_group(members_of(*group1, *group2, false), *group1);
  return MPI_SUCCESS;
}

int group_incl(Call& call, Group* group, int n, const int ranks[], MPI_Group* newgroup) {
  std::vector<char> seen;
  if (!mark(call, *group, n, ranks, seen)) return call.error();
  *newgroup = give_group(pick(*group, ranks, static_cast<std::size_t>(n)), *group);
  return MPI_SUCCESS;
}

int group_excl(Call& call, Group* group, int n, const int ranks[], MPI_Group* newgroup) {
  std::vector<char> seen;
  if (!mark(call, *group, n, ranks, seen)) return call.error();
  *newgroup = give_group(without(*group, seen), *group);
  return MPI_SUCCESS;
}

int group_range_incl(Call& call, Group* group, int n, int ranges[][3], MPI_Group* newgroup) {
  std::vector<int> ranks;
  if (!expand(call, *group, n, ranges, ranks)) return call.error();
  *newgroup = give_group(pick(*group, ranks.data(), ranks.size()), *group);
  return MPI_SUCCESS;
}

int group_range_excl(Call& call, Group* group, int n, int ranges[][3], MPI_Group* newgroup) {
  std::vector<int> ranks;
  if (!expand(call, *group, n, ranges, ranks)) return call.error();
  std::vector<char> left_out(group->peers.size(), 0);
  for (int rank : ranks) left_out[static_cast<std::size_t>(rank)] = 1;
  *newgroup = give_group(without(*group, left_out), *group);
  return MPI_SUCCESS;
}

int group_free(Call& call, MPI_Group* group) {
  Group* object = call.object(*group, {1, "group"});
  if (object == nullptr) return call.error();
  if (!object->predefined) {
    --object->users;
    release(object);
  }
  *group = MPI_GROUP_NULL;
  return MPI_SUCCESS;
}

}  // namespace api
}  // namespace herald::mpi
