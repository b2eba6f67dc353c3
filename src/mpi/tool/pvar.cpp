// SPDX-License-Identifier: BSD-3-Clause
// MPI_T performance variables. Counters run from start to stop of a handle and can be reset; levels always
// show the present and can only be read. All are unsigned long long, none is bound to an object.
#include <cstring>

#include "calls.hpp"
#include "exec/runner.hpp"
#include "mpi/core/tables.hpp"
#include "mpi/tool/tool.hpp"

namespace herald::mpi {
namespace {

using Value = unsigned long long;

struct Row {
  const char* name;
  int kind;
  Value (*read)();
  const char* text;
  PvarGroup group = PvarGroup::traffic;
};

constexpr int kCounter = MPI_T_PVAR_CLASS_COUNTER, kBytes = MPI_T_PVAR_CLASS_AGGREGATE,
              kLevel = MPI_T_PVAR_CLASS_LEVEL;

template <std::uint64_t p2p::CoreCounters::*kMember>
Value read() {
  return runtime().has_engine() ? runtime().engine().counters().*kMember : 0;
}

template <std::uint64_t p2p::PathCounters::*kMember>
Value read_path() {
  return runtime().has_engine() ? runtime().engine().counters().paths.*kMember : 0;
}

constexpr Row kRows[] = {
    {"herald_messages_sent", kCounter, read<&p2p::CoreCounters::sent>, "messages sent"},
    {"herald_bytes_sent", kBytes, read<&p2p::CoreCounters::sent_bytes>,
     "bytes of user data in the messages sent"},
    {"herald_messages_received", kCounter, read<&p2p::CoreCounters::received>, "messages received"},
    {"herald_bytes_received", kBytes, read<&p2p::CoreCounters::received_bytes>,
     "bytes of user data in the messages received"},
    {"herald_messages_unexpected", kCounter, read<&p2p::CoreCounters::unexpected>,
     "messages that arrived before a matching receive was posted"},
    {"herald_packets_bad", kCounter, read<&p2p::CoreCounters::bad_packets>,
     "invalid packets that were dropped"},
    {"herald_unexpected_held", kLevel, read<&p2p::CoreCounters::held>,
     "unexpected messages that are held now"},
    {"herald_bytes_mapped", kBytes, read<&p2p::CoreCounters::mapped_bytes>,
     "bytes of long messages that this process copied to or from mapped memory of peers"},
    {"herald_bytes_kernel", kBytes, read<&p2p::CoreCounters::kernel_bytes>,
     "bytes of long messages that this process had the kernel copy to or from memory of peers"},
    {"herald_packets_sent", kCounter, read_path<&p2p::PathCounters::net_packets>,
     "packets with data for single processes of other hosts, each counted once"},
    {"herald_probes_sent", kCounter, read_path<&p2p::PathCounters::net_probes>,
     "datagrams that asked a process of another host for an answer"},
    {"herald_casts", kCounter, read<&p2p::CoreCounters::cast_packets>,
     "packets for all members of a lane, sent by multicast"},
    {"herald_casts_missed", kCounter, read<&p2p::CoreCounters::cast_missed>,
     "packets of other members that were lost on their way by multicast"},
    {"herald_casts_unicast", kCounter, read<&p2p::CoreCounters::cast_unicast>,
     "packets of lanes sent to one member, which lost them or does not receive multicast"},
    {"herald_multicast_unheard", kCounter, read<&p2p::CoreCounters::unheard>,
     "times that a member stopped receiving our multicast"},
    {"herald_multicast_heard_again", kCounter, read<&p2p::CoreCounters::heard_again>,
     "times that such a member received it again"},
    {"herald_multicast_foreign", kCounter, read<&p2p::CoreCounters::foreign>,
     "datagrams of other jobs on our multicast addresses"},
    {"herald_datagrams_forged", kCounter, read<&p2p::CoreCounters::forged>,
     "datagrams without a valid tag that were dropped: of strangers, or corrupted"},
    {"herald_datagrams_stale", kCounter, read<&p2p::CoreCounters::stale>,
     "datagrams that were dropped because they belong to the past: of ended jobs, or delivered again"},
    {"herald_datagrams_malformed", kCounter, read<&p2p::CoreCounters::malformed>,
     "datagrams that were dropped because of their length, kind or flags"},
    {"herald_lanes_moved", kCounter, read<&p2p::CoreCounters::lanes_moved>,
     "lanes that moved to another multicast address"},
    {"herald_fused", kCounter, read<&p2p::CoreCounters::fused_count>,
     "packets of fused exchanges, by which short collectives of several hosts run"},
    {"herald_fused_resent", kCounter, read<&p2p::CoreCounters::fused_resent>,
     "those of them that were sent again"},
    {"herald_collectives", kCounter, [] { return Value{exec::counters.runs}; },
     "collectives begun, those of the library among them"},
    {"herald_collectives_shared", kCounter, [] { return Value{exec::counters.shared_runs}; },
     "those of them that use the segment of this host"},
    {"herald_collectives_prepared", kCounter, [] { return Value{exec::counters.prepared_runs}; },
     "those of them whose plan was prepared by MPIX_Plan_prepare"},
    {"herald_requests", kLevel, [] { return Value{tables().requests.live()}; }, "requests that exist",
     PvarGroup::objects},
    {"herald_communicators", kLevel, [] { return Value{tables().comms.live()}; },
     "communicators that the program made", PvarGroup::objects},
    {"herald_datatypes", kLevel, [] { return Value{tables().datatypes.live()}; },
     "datatypes that the program made", PvarGroup::objects},
};

bool is_level(const Row& row) noexcept { return row.kind == kLevel; }

struct PvarSession : ObjectOf<MPI_T_pvar_session> {};

struct PvarHandle : ObjectOf<MPI_T_pvar_handle> {
  std::uint32_t session = 0;
  const Row* row = nullptr;
  bool running = false;
  Value sum = 0, since = 0;  // counted in earlier periods; the variable's value at the last start

  Value value() const noexcept {
    if (is_level(*row)) return row->read();
    return running ? sum + (row->read() - since) : sum;
  }
  void start() noexcept {
    if (!running) since = row->read();
    running = true;
  }
  void stop() noexcept {
    sum = value();
    running = false;
  }
  void set(Value value) noexcept {
    sum = value;
    since = row->read();
  }
};

HandleTable<PvarSession>& sessions() noexcept {
  static auto& table = *new HandleTable<PvarSession>;
  return table;
}
HandleTable<PvarHandle>& pvar_handles() noexcept {
  static auto& table = *new HandleTable<PvarHandle>;
  return table;
}

std::uint32_t number(MPI_T_pvar_session session) noexcept {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(session));
}
bool is_session(MPI_T_pvar_session session) noexcept {
  return sessions().find(reinterpret_cast<std::uintptr_t>(session)) != nullptr;
}

// The handle, if it belongs to this session; else `error` is set.
PvarHandle* find(MPI_T_pvar_session session, MPI_T_pvar_handle handle, int& error) noexcept {
  if (!is_session(session)) {
    error = MPI_T_ERR_INVALID_SESSION;
    return nullptr;
  }
  PvarHandle* object = pvar_handles().find(reinterpret_cast<std::uintptr_t>(handle));
  if (object != nullptr && object->session == number(session)) return object;
  error = MPI_T_ERR_INVALID_HANDLE;
  return nullptr;
}

// Applies an action to one handle, or to all of the session that allow it.
template <class Do>
int for_handles(MPI_T_pvar_session session, MPI_T_pvar_handle handle, int refusal, Do action) noexcept {
  if (handle == MPI_T_PVAR_ALL_HANDLES && is_session(session)) {
    pvar_handles().each([&](PvarHandle& each) {
      if (each.session == number(session) && !is_level(*each.row)) action(each);
    });
    return MPI_SUCCESS;
  }
  int error = MPI_SUCCESS;
  PvarHandle* object = find(session, handle, error);
  if (object == nullptr) return error;
  if (is_level(*object->row)) return refusal;
  action(*object);
  return MPI_SUCCESS;
}

}  // namespace

int pvar_count() noexcept { return static_cast<int>(std::size(kRows)); }
PvarGroup pvar_group(int index) noexcept { return kRows[index].group; }

void forget_pvar_sessions() noexcept {
  pvar_handles().each([](PvarHandle& handle) { pvar_handles().destroy(&handle); });
  sessions().each([](PvarSession& session) { sessions().destroy(&session); });
}

namespace api {

int t_pvar_get_num(Call&, int* num_pvar) { return give_number(pvar_count(), num_pvar); }

int t_pvar_get_info(Call&, int pvar_index, char* name, int* name_len, int* verbosity, int* var_class,
                    MPI_Datatype* datatype, MPI_T_enum* enumtype, char* desc, int* desc_len, int* bind,
                    int* readonly, int* continuous, int* atomic) {
  if (pvar_index < 0 || pvar_index >= pvar_count()) return MPI_T_ERR_INVALID_INDEX;
  const Row& row = kRows[pvar_index];
  give_text(row.name, name, name_len);
  give_text(row.text, desc, desc_len);
  give(MPI_T_VERBOSITY_USER_BASIC, verbosity);
  give(row.kind, var_class);
  give(MPI_UNSIGNED_LONG_LONG, datatype);
  give(MPI_T_ENUM_NULL, enumtype);
  give(MPI_T_BIND_NO_OBJECT, bind);
  give(is_level(row) ? 1 : 0, readonly);
  give(is_level(row) ? 1 : 0, continuous);
  give(is_level(row) ? 0 : 1, atomic);
  return MPI_SUCCESS;
}

int t_pvar_get_index(Call&, const char* name, int var_class, int* pvar_index) {
  if (name == nullptr || pvar_index == nullptr) return MPI_T_ERR_INVALID;
  for (int i = 0; i < pvar_count(); ++i) {
    if (std::strcmp(name, kRows[i].name) != 0 || kRows[i].kind != var_class) continue;
    *pvar_index = i;
    return MPI_SUCCESS;
  }
  return MPI_T_ERR_INVALID_NAME;
}

int t_pvar_session_create(Call&, MPI_T_pvar_session* pe_session) {
  if (pe_session == nullptr) return MPI_T_ERR_INVALID;
  *pe_session = handle_of(sessions().create());
  return MPI_SUCCESS;
}

int t_pvar_session_free(Call&, MPI_T_pvar_session* pe_session) {
  if (pe_session == nullptr) return MPI_T_ERR_INVALID;
  if (!is_session(*pe_session)) return MPI_T_ERR_INVALID_SESSION;
  pvar_handles().each([&](PvarHandle& handle) {
    if (handle.session == number(*pe_session)) pvar_handles().destroy(&handle);
  });
  sessions().destroy(sessions().find(number(*pe_session)));
  *pe_session = MPI_T_PVAR_SESSION_NULL;
  return MPI_SUCCESS;
}

int t_pvar_handle_alloc(Call&, MPI_T_pvar_session pe_session, int pvar_index, void*,
                        MPI_T_pvar_handle* handle, int* count) {
  if (!is_session(pe_session)) return MPI_T_ERR_INVALID_SESSION;
  if (pvar_index < 0 || pvar_index >= pvar_count()) return MPI_T_ERR_INVALID_INDEX;
  if (handle == nullptr || count == nullptr) return MPI_T_ERR_INVALID;
  PvarHandle* made = pvar_handles().create();
  made->session = number(pe_session);
  made->row = &kRows[pvar_index];
  *handle = handle_of(made);
  *count = 1;
  return MPI_SUCCESS;
}

int t_pvar_handle_free(Call&, MPI_T_pvar_session pe_session, MPI_T_pvar_handle* handle) {
  if (handle == nullptr) return MPI_T_ERR_INVALID;
  int error = MPI_SUCCESS;
  PvarHandle* object = find(pe_session, *handle, error);
  if (object == nullptr) return error;
  pvar_handles().destroy(object);
  *handle = MPI_T_PVAR_HANDLE_NULL;
  return MPI_SUCCESS;
}

int t_pvar_start(Call&, MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle) {
  return for_handles(pe_session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP, [](PvarHandle& each) { each.start(); });
}

int t_pvar_stop(Call&, MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle) {
  return for_handles(pe_session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP, [](PvarHandle& each) { each.stop(); });
}

int t_pvar_reset(Call&, MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle) {
  return for_handles(pe_session, handle, MPI_T_ERR_PVAR_NO_WRITE, [](PvarHandle& each) { each.set(0); });
}

int t_pvar_read(Call&, MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle, void* buf) {
  int error = MPI_SUCCESS;
  const PvarHandle* object = find(pe_session, handle, error);
  if (object == nullptr) return error;
  if (buf == nullptr) return MPI_T_ERR_INVALID;
  *static_cast<Value*>(buf) = object->value();
  return MPI_SUCCESS;
}

int t_pvar_write(Call&, MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle, const void* buf) {
  if (buf == nullptr) return MPI_T_ERR_INVALID;
  if (handle == MPI_T_PVAR_ALL_HANDLES) return MPI_T_ERR_INVALID_HANDLE;
  const Value value = *static_cast<const Value*>(buf);
  return for_handles(pe_session, handle, MPI_T_ERR_PVAR_NO_WRITE,
                     [value](PvarHandle& each) { each.set(value); });
}

int t_pvar_readreset(Call&, MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle, void* buf) {
  if (buf == nullptr) return MPI_T_ERR_INVALID;
  if (handle == MPI_T_PVAR_ALL_HANDLES) return MPI_T_ERR_INVALID_HANDLE;
  return for_handles(pe_session, handle, MPI_T_ERR_PVAR_NO_ATOMIC, [buf](PvarHandle& each) {
    *static_cast<Value*>(buf) = each.value();
    each.set(0);
  });
}

}  // namespace api
}  // namespace herald::mpi
