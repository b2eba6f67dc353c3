// SPDX-License-Identifier: BSD-3-Clause
// Inter-communicators: two groups whose members send to each other. Each holds an intra-communicator of all
// its members (Comm::both), over which they agree whenever a new communicator is made from it.
#include <algorithm>
#include <cstring>

#include "calls.hpp"
#include "mpi/coll/internal.hpp"
#include "mpi/comm/comm.hpp"
#include "mpi/comm/context_agreement.hpp"
#include "mpi/comm/introduction.hpp"
#include "mpi/core/errors.hpp"
#include "mpi/core/request_complete.hpp"
#include "path/random.hpp"

namespace herald::mpi {

Comm* join_inter(Comm& comm, const std::vector<SplitEntry>& entries) noexcept {
  const Comm& both = *comm.both;
  const auto wish = [&](int member) { return entries[static_cast<std::size_t>(member)]; };
  const std::int32_t color = wish(both.rank).color;
  if (color == MPI_UNDEFINED) return nullptr;
  const int lower_size = comm.lower ? comm.size : comm.partner_count;
  std::vector<int> members[2];
  for (int i = 0; i < both.size; ++i)
    if (wish(i).color == color) members[i < lower_size ? 0 : 1].push_back(i);
  if (members[0].empty() || members[1].empty()) return nullptr;
  Group* groups[2];
  for (int side = 0; side < 2; ++side) {
    std::stable_sort(members[side].begin(), members[side].end(),
                     [&](int a, int b) { return wish(a).key < wish(b).key; });
    std::vector<std::int32_t> peers;
    for (int member : members[side]) peers.push_back(both.peer(member));
    groups[side] = make_group(std::move(peers), comm.session);
  }
  const int mine = comm.lower ? 0 : 1;
  return make_inter(groups[mine], groups[1 - mine], comm.lower, wish(members[0][0]).context, comm.errhandler,
                    comm.session);
}

namespace api {
namespace {

// A message each way between the leaders.
int exchange(Comm& peer_comm, int partner, int tag, const void* out, std::size_t out_bytes, void* in,
             std::size_t in_bytes) noexcept {
  p2p::RecvOp recv;
  recv.context = peer_comm.context | kLeaders;
  recv.tag = tag;
  recv.source = partner;
  recv.awaited = peer_comm.peer(partner);
  recv.data = type::Cursor::bytes(in, in_bytes);
  p2p::SendOp send;
  send.context = peer_comm.context | kLeaders;
  send.tag = tag;
  send.to = peer_comm.peer(partner);
  send.source = peer_comm.rank;
  send.data = type::Cursor::bytes(const_cast<void*>(out), out_bytes);
  runtime().engine().messages().start(recv);
  runtime().engine().messages().start(send);
  wait_until([&] { return recv.done && send.done; });
  return recv.status != Status::ok ? error_of(recv.status) : error_of(send.status);
}

// Sent from one leader to the other, and then to its group.
struct Side {
  std::int32_t error, size, leader;
  std::int32_t several_jobs;  // the groups must be introduced to each other
  std::uint64_t context;
};

bool spans_jobs(const Comm& comm) noexcept {
  const engine::JobHosts& hosts = engine::job_hosts_of(runtime().engine());
  return hosts.span_jobs(comm.group->peers) ||
         (comm.remote != nullptr && hosts.span_jobs(comm.remote->peers));
}

// Between leaders that have a communicator in common.
class MessageChannel final : public Channel {
 public:
  MessageChannel(Comm& comm, int partner, int tag) noexcept : comm_(comm), partner_(partner), tag_(tag) {
    for (std::uint64_t& word : own_) word = path::random_number();
  }
  bool exchange(const std::string& out, std::string& in, std::string& why) override {
    // The first message brings the random numbers too.
    std::uint64_t sizes[2][6] = {{out.size(), own_[0], own_[1], own_[2], own_[3]}};
    int error = api::exchange(comm_, partner_, tag_, sizes[0], sizeof sizes[0], sizes[1], sizeof sizes[1]);
    in.resize(error == MPI_SUCCESS ? sizes[1][0] : 0);
    for (std::size_t i = 0; i < 4; ++i) mixed_[i] = own_[i] ^ sizes[1][i + 1];
    if (error == MPI_SUCCESS)
      error = api::exchange(comm_, partner_, tag_, out.data(), out.size(), in.data(), in.size());
    if (error != MPI_SUCCESS) why = "the leaders could not reach each other";
    return error == MPI_SUCCESS;
  }
  wire::SecretKey secret() const noexcept override {
    const wire::JobKey key = runtime().engine().foreign().key_of(comm_.peer(partner_));
    wire::SecretKey secret;
    for (std::size_t i = 0; i < 4; ++i) {
      const std::uint64_t word =
          wire::siphash24(key, {reinterpret_cast<const std::byte*>(&mixed_[i]), sizeof mixed_[i]});
      std::memcpy(secret.data() + i * sizeof word, &word, sizeof word);
    }
    return secret;
  }

 private:
  Comm& comm_;
  const int partner_, tag_;
  std::uint64_t own_[4], mixed_[4] = {};
};

Comm* introduce_groups(Call& call, Comm& local, int leader, Comm* peer_comm, int remote_leader,
                       int tag) noexcept {
  Meeting meeting;
  if (local.rank != leader) return introduce(call, local, leader, meeting);
  const engine::ForeignPeers& foreign = runtime().engine().foreign();
  MessageChannel channel(*peer_comm, remote_leader, tag);
  meeting.channel = &channel;
  meeting.lower =
      foreign.name_of(runtime().engine().peers().rank()) < foreign.name_of(peer_comm->peer(remote_leader));
  return introduce(call, local, leader, meeting);
}

// The leader's part: the other side and its members.
int meet_leader(Call& call, const Comm& local, Comm& peer_comm, int partner, int tag, Side& mine, Side& other,
                std::vector<std::int32_t>& peers) noexcept {
  int error = exchange(peer_comm, partner, tag, &mine, sizeof mine, &other, sizeof other);
  other.several_jobs = other.several_jobs != 0 || mine.several_jobs != 0 ? 1 : 0;
  if (error == MPI_SUCCESS && other.several_jobs != 0) return MPI_SUCCESS;
  if (error == MPI_SUCCESS) {
    peers.resize(static_cast<std::size_t>(other.size));
    error = exchange(peer_comm, partner, tag, local.group->peers.data(),
                     local.group->peers.size() * sizeof(std::int32_t), peers.data(),
                     peers.size() * sizeof(std::int32_t));
  }
  if (error != MPI_SUCCESS) return call.fail(error, "the leaders could not reach each other");
  for (std::int32_t peer : local.group->peers)
    if (std::find(peers.begin(), peers.end(), peer) != peers.end())
      return call.fail(MPI_ERR_COMM, "the two groups have a member in common; they must not");
  return MPI_SUCCESS;
}

int lead(Call& call, const Comm& local, Comm* peer_comm, int remote_leader, int tag, Side& other,
         std::vector<std::int32_t>& peers) noexcept {
  if (peer_comm == nullptr)
    return call.fail(MPI_ERR_COMM, "argument 3 (peer_comm) is null at the leader of its group");
  if (!peer_comm->names(remote_leader))
    return call.fail(MPI_ERR_RANK, "argument 4 (remote_leader) is %d; use a rank of argument 3 (peer_comm)",
                     remote_leader);
  const int several = spans_jobs(local) || spans_jobs(*peer_comm) ? 1 : 0;
  Side mine{MPI_SUCCESS, local.size, runtime().engine().peers().rank(), several, propose_context()};
  const int error = meet_leader(call, local, *peer_comm, remote_leader, tag, mine, other, peers);
  if (mine.leader < other.leader) other.context = mine.context;  // both use the lower leader's
  return error;
}

bool is_inter(Call& call, const Comm& comm) noexcept {
  if (comm.remote == nullptr)
    (void)call.fail(MPI_ERR_COMM, "argument 1 (comm) is an intra-communicator; it has no other group");
  return comm.remote != nullptr;
}

}  // namespace

int comm_remote_size(Call& call, Comm* comm, int* size) {
  if (!is_inter(call, *comm)) return call.error();
  *size = comm->partner_count;
  return MPI_SUCCESS;
}

int comm_remote_group(Call& call, Comm* comm, MPI_Group* group) {
  if (!is_inter(call, *comm)) return call.error();
  *group = hand_out(comm->remote);
  return MPI_SUCCESS;
}

int intercomm_create(Call& call, Comm* local_comm, int local_leader, Comm* peer_comm, int remote_leader,
                     int tag, MPI_Comm* newintercomm) {
  if (local_comm->remote != nullptr)
    return call.fail(MPI_ERR_COMM,
                     "argument 1 (local_comm) is an inter-communicator; give an intra-communicator");
  if (!local_comm->names(local_leader))
    return call.fail(MPI_ERR_RANK, "argument 2 (local_leader) is %d; use a rank of argument 1 (local_comm)",
                     local_leader);
  Side other{};
  std::vector<std::int32_t> peers;
  if (local_comm->rank == local_leader)
    other.error = lead(call, *local_comm, peer_comm, remote_leader, tag, other, peers);
  int error = bcast_bytes(*local_comm, &other, sizeof other, local_leader);
  if (error == MPI_SUCCESS && other.error == MPI_SUCCESS && other.several_jobs != 0) {
    const Comm* made = introduce_groups(call, *local_comm, local_leader, peer_comm, remote_leader, tag);
    if (made == nullptr) return call.error();
    *newintercomm = handle_of(made);
    return MPI_SUCCESS;
  }
  if (error == MPI_SUCCESS && other.error == MPI_SUCCESS) {
    peers.resize(static_cast<std::size_t>(other.size));
    error = bcast_bytes(*local_comm, peers.data(), peers.size() * sizeof(std::int32_t), local_leader);
  }
  if (call.failed()) return call.error();
  if (error == MPI_SUCCESS) error = other.error;
  if (error != MPI_SUCCESS)
    return call.fail(error,
                     "the leader of this group, rank %d, could not reach the leader of the other group",
                     local_leader);
  retain(local_comm->group);
  const bool lower = local_comm->peer(local_leader) < other.leader;
  *newintercomm = handle_of(make_inter(local_comm->group, make_group(std::move(peers), local_comm->session),
                                       lower, other.context, local_comm->errhandler, local_comm->session));
  return MPI_SUCCESS;
}

int intercomm_create_from_groups(Call& call, Group* local_group, int local_leader, Group* remote_group,
                                 int remote_leader, const char* stringtag, Info* info, Errhandler* errhandler,
                                 MPI_Comm* newintercomm) {
  if (!check_errhandler(call, *errhandler, ObjectKind::comm, 7)) return call.error();
  if (local_group->rank == MPI_UNDEFINED)
    return call.fail(MPI_ERR_GROUP, "argument 1 (local_group): this process is not a member");
  const auto leader = [](const Group& group, int rank) {
    return rank >= 0 && rank < group.size() ? group.peers[static_cast<std::size_t>(rank)] : -1;
  };
  const std::int32_t mine = leader(*local_group, local_leader), other = leader(*remote_group, remote_leader);
  if (mine < 0 || other < 0)
    return call.fail(MPI_ERR_RANK, "argument %d (%s) is not a rank of its group", mine < 0 ? 2 : 4,
                     mine < 0 ? "local_leader" : "remote_leader");
  const engine::ForeignPeers& foreign = runtime().engine().foreign();
  const bool lower = foreign.name_of(mine) < foreign.name_of(other);
  const Group &first = lower ? *local_group : *remote_group, &second = lower ? *remote_group : *local_group;
  std::vector<std::int32_t> all = first.peers;
  all.insert(all.end(), second.peers.begin(), second.peers.end());
  Group* both = make_group(std::move(all), nullptr);
  std::uint64_t context = 0;
  const int error = agree_context(*both, agreement_key(*both, 1, stringtag), context);
  release(both);
  if (error != MPI_SUCCESS) return call.fail(error, "the members of the groups could not reach each other");
  retain(local_group);
  retain(remote_group);
  Comm* made = make_inter(local_group, remote_group, lower, context, errhandler, local_group->session);
  if (info != nullptr) take_hints(*made, *info);
  *newintercomm = handle_of(made);
  return MPI_SUCCESS;
}

int intercomm_merge(Call& call, Comm* intercomm, int high, MPI_Comm* newintracomm) {
  if (!is_inter(call, *intercomm)) return call.error();
  struct Vote {
    std::int64_t high;
    std::uint64_t context;
  };
  const Comm& both = *intercomm->both;
  const Vote mine{high != 0, propose_context()};
  std::vector<Vote> votes(static_cast<std::size_t>(both.size));
  const int error = allgather_bytes(*intercomm->both, &mine, votes.data(), sizeof mine);
  if (error != MPI_SUCCESS) return call.fail(error, "the members could not agree on a new communicator");
  const auto lower_size =
      static_cast<std::size_t>(intercomm->lower ? intercomm->size : intercomm->partner_count);
  for (std::size_t i = 1; i < votes.size(); ++i)
    if (i != lower_size && votes[i].high != votes[i - 1].high)
      return call.fail(MPI_ERR_ARG, "argument 2 (high) differs between members of the same group");
  // Groups that want the same place stand as they do in `both`.
  const std::size_t first = votes[0].high > votes[lower_size].high ? lower_size : 0;
  std::vector<std::int32_t> peers = both.group->peers;
  std::rotate(peers.begin(), peers.begin() + static_cast<std::ptrdiff_t>(first), peers.end());
  *newintracomm = handle_of(make_comm(make_group(std::move(peers), intercomm->session), votes[first].context,
                                      intercomm->errhandler, intercomm->session));
  return MPI_SUCCESS;
}

}  // namespace api
}  // namespace herald::mpi
