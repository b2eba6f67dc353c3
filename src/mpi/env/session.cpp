// SPDX-License-Identifier: BSD-3-Clause
// Sessions: MPI without a world. They share one start with MPI_Init.
#include <strings.h>

#include <algorithm>
#include <cstring>

#include "calls.hpp"
#include "mpi/comm/comm.hpp"
#include "mpi/core/errors.hpp"
#include "mpi/core/info.hpp"
#include "mpi/core/tables.hpp"
#include "mpi/p2p/bsend.hpp"

namespace herald::mpi::api {
namespace {

constexpr const char* kSets[] = {"mpi://WORLD", "mpi://SELF"};
constexpr int kSetCount = 2;

// The index of a process set's name; -1 and the call failed if there is none.
int set_of(Call& call, const char* name) noexcept {
  for (int i = 0; i < kSetCount; ++i)
    if (::strcasecmp(name, kSets[i]) == 0) return i;
  (void)call.fail(MPI_ERR_ARG, "argument 2 (pset_name) is \"%.100s\"; there are mpi://WORLD and mpi://SELF",
                  name);
  return -1;
}

int size_of(int set) noexcept { return set == 0 ? runtime().engine().peers().size() : 1; }

// Records in the session's info the thread level that it got.
void fill_info(Session& session) noexcept {
  info_put(session.info, "thread_level", thread_level_name(session.thread_level));
  info_put(session.info, "mpi_memory_alloc_kinds", "system,mpi");
}

}  // namespace

// Threads may always call at once in sessions: the level of a later session is not known at the first.
int session_init(Call& call, Info* info, Errhandler* errhandler, MPI_Session* session) {
  if (!check_errhandler(call, *errhandler, ObjectKind::session, 2)) return call.error();
  int level = MPI_THREAD_MULTIPLE;  // unless the program asks for less
  const std::string* requested = info == nullptr ? nullptr : info_value(*info, "thread_level");
  Session* made = tables().sessions.create();
  made->errhandler = errhandler;
  retain(errhandler);
  call.blame(made);
  if (requested != nullptr && (level = thread_level_of(*requested)) < 0)
    return call.fail(MPI_ERR_INFO_VALUE,
                     "argument 1 (info) has thread_level \"%.60s\"; use MPI_THREAD_SINGLE, "
                     "MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE",
                     requested->c_str());
  std::string why;
  const int error = runtime().start(call, true, why);
  if (error != MPI_SUCCESS) return call.fail(error, "%s", why.c_str());
  if (level == MPI_THREAD_MULTIPLE && !runtime().threads_multiple()) level = MPI_THREAD_SERIALIZED;
  made->thread_level = level;
  fill_info(*made);
  *session = handle_of(made);
  return MPI_SUCCESS;
}

int session_finalize(Call& call, MPI_Session* session) {
  Session* object = call.object(*session, {1, "session"});
  if (object == nullptr) return call.error();
  flush_all_buffers();
  // Objects made from the session that were not freed stay valid without it.
  tables().comms.each([object](Comm& comm) {
    if (comm.session == object) comm.session = nullptr;
  });
  tables().groups.each([object](Group& group) {
    if (group.session == object) group.session = nullptr;
  });
  tables().sessions.destroy(object);
  *session = MPI_SESSION_NULL;
  call.blame(static_cast<Session*>(nullptr));
  runtime().stop(call);
  return MPI_SUCCESS;
}

int session_get_info(Call&, Session* session, MPI_Info* info_used) {
  Info* info = new_info();
  info->entries = session->info.entries;
  *info_used = handle_of(info);
  return MPI_SUCCESS;
}

int session_get_num_psets(Call&, Session*, Info*, int* npset_names) {
  *npset_names = kSetCount;
  return MPI_SUCCESS;
}

int session_get_nth_pset(Call& call, Session*, Info*, int n, int* pset_len, char* pset_name) {
  if (n < 0 || n >= kSetCount)
    return call.fail(MPI_ERR_ARG, "argument 3 (n) is %d; there are process sets 0 to %d", n, kSetCount - 1);
  if (*pset_len < 0)
    return call.fail(MPI_ERR_ARG, "argument 4 (pset_len) is %d; it must not be negative", *pset_len);
  if (*pset_len > 0 && pset_name == nullptr)
    return call.fail(MPI_ERR_ARG, "argument 5 (pset_name) is a null pointer; give a buffer of pset_len");
  const std::size_t length = std::strlen(kSets[n]);
  if (*pset_len > 0) {
    const std::size_t part = std::min(length, static_cast<std::size_t>(*pset_len) - 1);
    std::memcpy(pset_name, kSets[n], part);
    pset_name[part] = '\0';
  }
  *pset_len = static_cast<int>(length) + 1;
  return MPI_SUCCESS;
}

int session_get_pset_info(Call& call, Session*, const char* pset_name, MPI_Info* info) {
  const int set = set_of(call, pset_name);
  if (set < 0) return call.error();
  Info* made = new_info();
  info_put(*made, "mpi_size", std::to_string(size_of(set)));
  *info = handle_of(made);
  return MPI_SUCCESS;
}

int group_from_session_pset(Call& call, Session* session, const char* pset_name, MPI_Group* newgroup) {
  const int set = set_of(call, pset_name);
  if (set < 0) {
    *newgroup = MPI_GROUP_NULL;
    return call.error();
  }
  std::vector<std::int32_t> peers(static_cast<std::size_t>(size_of(set)), runtime().engine().peers().rank());
  if (set == 0)
    for (std::size_t i = 0; i < peers.size(); ++i) peers[i] = static_cast<std::int32_t>(i);
  Group* group = make_group(std::move(peers), session);
  group->users = 1;
  *newgroup = handle_of(group);
  return MPI_SUCCESS;
}

}  // namespace herald::mpi::api
