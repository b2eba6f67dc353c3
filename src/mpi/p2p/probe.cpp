// SPDX-License-Identifier: BSD-3-Clause
// Probes, and receives of messages that a probe has matched.
#include <memory>

#include "calls.hpp"
#include "mpi/core/request_complete.hpp"
#include "mpi/core/status.hpp"
#include "mpi/core/waiting.hpp"
#include "mpi/p2p/p2p.hpp"

namespace herald::mpi {
namespace {

// A message taken out of the queue by a matched probe, waiting for MPI_Mrecv.
struct Matched : Object {
  p2p::Found found;
  Comm* comm = nullptr;
};

HandleTable<Matched>& matched_table() noexcept {
  static HandleTable<Matched>& table = *new HandleTable<Matched>;
  return table;
}

void found_status(const p2p::Found& found, MPI_Status* status) noexcept {
  set_status(status, found.source, found.tag, static_cast<std::int64_t>(found.bytes), false);
}

MPI_Message hold(const p2p::Found& found, Comm* comm) noexcept {
  Matched* matched = matched_table().create();
  matched->found = found;
  matched->comm = comm;
  retain(comm);
  return reinterpret_cast<MPI_Message>(std::uintptr_t{matched->handle});
}

// Null with call.failed() if the handle is not valid; null without for MPI_MESSAGE_NO_PROC.
Matched* matched_of(Call& call, MPI_Message handle) noexcept {
  if (handle == MPI_MESSAGE_NO_PROC) return nullptr;
  Matched* matched = matched_table().find(reinterpret_cast<std::uintptr_t>(handle));
  if (matched == nullptr)
    (void)call.fail(MPI_ERR_REQUEST, "argument 4 (message) is not a message from MPI_Mprobe or MPI_Improbe");
  else
    call.blame(matched->comm);
  return matched;
}

// The caller takes over the count of the communicator that `matched` held.
Comm* start_matched(Matched* matched, p2p::RecvOp& op, void* buf, MPI_Count count,
                    const Datatype& datatype) noexcept {
  Comm* comm = matched->comm;
  fill_recv(op, buf, count, datatype, matched->found.source, matched->found.tag, *comm);
  runtime().engine().messages().start_matched(op, matched->found.message);
  matched_table().destroy(matched);
  return comm;
}

// The source has gone: no message can arrive from it.
bool is_lost(const Comm& comm, int source) noexcept {
  return source >= 0 && runtime().engine().peers().is_gone(comm.peer(source));
}

}  // namespace

namespace api {

int probe(Call& call, int source, int tag, Comm* comm, MPI_Status* status) {
  if (source == MPI_PROC_NULL) return set_proc_null_status(status), MPI_SUCCESS;
  p2p::Found found;
  bool here = false;
  wait_until(
      [&] {
        here = runtime().engine().messages().probe(comm->context, source, tag, found);
        return here || is_lost(*comm, source);
      },
      [&](ShownWait& wait) { show_receive(wait, source, tag, comm); });
  if (!here) return fail_lost(call, comm->peer(source));
  found_status(found, status);
  return MPI_SUCCESS;
}

int iprobe(Call&, int source, int tag, Comm* comm, int* flag, MPI_Status* status) {
  if (source == MPI_PROC_NULL) return *flag = 1, set_proc_null_status(status), MPI_SUCCESS;
  p2p::Found found;
  engine::Engine& engine = runtime().engine();
  *flag = engine.messages().probe(comm->context, source, tag, found);
  if (!*flag) {
    engine.progress();
    *flag = engine.messages().probe(comm->context, source, tag, found);
  }
  if (*flag) found_status(found, status);
  return MPI_SUCCESS;
}

int mprobe(Call& call, int source, int tag, Comm* comm, MPI_Message* message, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    set_proc_null_status(status);
    *message = MPI_MESSAGE_NO_PROC;
    return MPI_SUCCESS;
  }
  p2p::Found found;
  bool here = false;
  wait_until(
      [&] {
        here = runtime().engine().messages().take(comm->context, source, tag, found);
        return here || is_lost(*comm, source);
      },
      [&](ShownWait& wait) { show_receive(wait, source, tag, comm); });
  if (!here) return fail_lost(call, comm->peer(source));
  found_status(found, status);
  *message = hold(found, comm);
  return MPI_SUCCESS;
}

int improbe(Call&, int source, int tag, Comm* comm, int* flag, MPI_Message* message, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    set_proc_null_status(status);
    *message = MPI_MESSAGE_NO_PROC;
    *flag = 1;
    return MPI_SUCCESS;
  }
  p2p::Found found;
  engine::Engine& engine = runtime().engine();
  *flag = engine.messages().take(comm->context, source, tag, found);
  if (!*flag) {
    engine.progress();
    *flag = engine.messages().take(comm->context, source, tag, found);
  }
  if (*flag) {
    found_status(found, status);
    *message = hold(found, comm);
  } else {
    *message = MPI_MESSAGE_NULL;
  }
  return MPI_SUCCESS;
}

int mrecv(Call& call, void* buf, MPI_Count count, Datatype* datatype, MPI_Message* message,
          MPI_Status* status) {
  Matched* matched = matched_of(call, *message);
  if (call.failed()) return call.error();
  *message = MPI_MESSAGE_NULL;
  if (matched == nullptr) return set_proc_null_status(status), MPI_SUCCESS;
  p2p::RecvOp op;
  Comm* comm = start_matched(matched, op, buf, count, *datatype);
  wait_until([&] { return op.done; }, [&](ShownWait& wait) { show_receive(wait, op, comm); });
  set_status(status, op.from_source, op.from_tag, static_cast<std::int64_t>(op.bytes), false);
  if (comm->handle == 0) call.blame(static_cast<Comm*>(nullptr));
  release(comm);
  return error_of(op) == MPI_SUCCESS ? MPI_SUCCESS : fail_receive(call, op);
}

int imrecv(Call& call, void* buf, MPI_Count count, Datatype* datatype, MPI_Message* message,
           MPI_Request* request) {
  Matched* matched = matched_of(call, *message);
  if (call.failed()) return call.error();
  *message = MPI_MESSAGE_NULL;
  Request* made = new_request(matched == nullptr ? nullptr : matched->comm);
  *request = handle_of(made);
  if (matched == nullptr) {
    made->source = MPI_PROC_NULL;
    return MPI_SUCCESS;
  }
  release(start_matched(matched, made->make_recv(), buf, count, *datatype));
  return MPI_SUCCESS;
}

}  // namespace api
}  // namespace herald::mpi
