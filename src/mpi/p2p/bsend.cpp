// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/p2p/bsend.hpp"

#include <new>

#include "calls.hpp"
#include "mpi/core/request.hpp"
#include "mpi/core/tables.hpp"
#include "mpi/p2p/p2p.hpp"

namespace herald::mpi {
namespace {

using Owner = std::shared_ptr<SendBuffer>;

Owner& process_buffer() noexcept {
  static Owner& buffer = *new Owner;
  return buffer;
}

constexpr std::size_t kAlign = 16;
constexpr std::size_t rounded(std::size_t bytes) noexcept { return (bytes + kAlign - 1) / kAlign * kAlign; }

// Finds room for `bytes`: the entry to insert before (null: at the end) and the offset.
bool find_room(SendBuffer& buffer, std::size_t bytes, std::size_t& offset,
               SendBuffer::Pending*& before) noexcept {
  offset = 0;
  for (before = buffer.pending.front(); before != nullptr; before = buffer.pending.next(*before)) {
    if (before->offset - offset >= bytes) return true;
    offset = before->offset + before->bytes;
  }
  return buffer.bytes - offset >= bytes;
}

void message_left(p2p::Op& op) {
  auto* entry = static_cast<SendBuffer::Pending*>(op.owner);
  SendBuffer& buffer = *entry->owner;
  Comm* comm = entry->comm;
  entry->unlink();
  delete entry;
  if (buffer.empty() && !buffer.flushes.empty()) {
    std::vector<Request*> done;
    done.swap(buffer.flushes);
    for (Request* request : done) finish_work(*request, MPI_SUCCESS);
  }
  release(comm);
}

SendBuffer* buffer_for(const Comm& comm) noexcept {
  if (comm.buffer != nullptr) return comm.buffer.get();
  if (comm.session != nullptr && comm.session->buffer != nullptr) return comm.session->buffer.get();
  return process_buffer().get();
}

// A copy of the message in the buffer, not started yet. Null with call.failed().
SendBuffer::Pending* store(Call& call, const p2p::SendOp& message, Comm& comm) noexcept {
  SendBuffer* buffer = buffer_for(comm);
  const std::size_t bytes = message.data.total();
  if (buffer == nullptr)
    return call.fail(MPI_ERR_BUFFER,
                     "no buffer is attached for a message of %zu bytes; call MPI_Buffer_attach first", bytes);
  std::size_t offset = 0;
  SendBuffer::Pending* before = nullptr;
  const std::size_t room = rounded(bytes);
  if (!buffer->automatic) {
    bool fits = find_room(*buffer, room, offset, before);
    if (!fits) {
      runtime().engine().progress();
      fits = find_room(*buffer, room, offset, before);
    }
    if (!fits)
      return call.fail(
          MPI_ERR_BUFFER,
          "the attached buffer of %zu bytes has no room for another message of %zu bytes; attach a larger "
          "one, or MPI_BUFFER_AUTOMATIC",
          buffer->bytes, bytes);
  }
  auto* entry = new SendBuffer::Pending;
  entry->owner = buffer;
  entry->comm = &comm;
  retain(&comm);
  std::byte* place = nullptr;
  if (buffer->automatic) {
    entry->own.reset(new (std::nothrow) std::byte[bytes]);
    place = entry->own.get();
    buffer->pending.push_back(*entry);
  } else {
    entry->offset = offset;
    entry->bytes = room;
    place = static_cast<std::byte*>(buffer->user) + offset;
    if (before != nullptr)
      buffer->pending.insert_before(*before, *entry);
    else
      buffer->pending.push_back(*entry);
  }
  type::Cursor data = message.data;
  data.pack(place, bytes);
  p2p::SendOp& op = entry->op;
  op.context = message.context;
  op.tag = message.tag;
  op.to = message.to;
  op.source = message.source;
  op.data = type::Cursor::bytes(place, bytes);
  op.owner = entry;
  op.on_done = message_left;
  return entry;
}

int send_buffered(Call& call, const void* buf, MPI_Count count, const Datatype& datatype, int dest, int tag,
                  Comm& comm) noexcept {
  if (dest == MPI_PROC_NULL) return MPI_SUCCESS;
  p2p::SendOp message;
  fill_send(message, buf, count, datatype, dest, tag, comm, p2p::SendMode::standard);
  SendBuffer::Pending* entry = store(call, message, comm);
  if (entry == nullptr) return call.error();
  runtime().engine().messages().start(entry->op);
  return MPI_SUCCESS;
}

struct BsendWork final : Work {
  const void* buf = nullptr;
  MPI_Count count = 0;
  Datatype* datatype = nullptr;  // holds a count
  int dest = 0, tag = 0;
  Comm* comm = nullptr;

  ~BsendWork() override { release(datatype); }
  void start(Request& request) noexcept override {
    Call call("MPI_Start", When::live, false);
    finish_work(request, send_buffered(call, buf, count, *datatype, dest, tag, *comm));
  }
};

struct FlushWork final : Work {
  SendBuffer* buffer = nullptr;
  void start(Request& request) noexcept override {
    if (buffer == nullptr || buffer->empty())
      finish_work(request, MPI_SUCCESS);
    else
      buffer->flushes.push_back(&request);
  }
};

int attach(Call& call, Owner& owner, void* memory, MPI_Count size) noexcept {
  if (owner != nullptr) return call.fail(MPI_ERR_BUFFER, "a buffer is attached already; detach it first");
  const bool automatic = memory == MPI_BUFFER_AUTOMATIC;
  if (memory == nullptr && size > 0)
    return call.fail(MPI_ERR_BUFFER,
                     "argument buffer is a null pointer; give memory, or MPI_BUFFER_AUTOMATIC");
  owner = std::make_shared<SendBuffer>();
  owner->user = memory;
  owner->automatic = automatic;
  owner->bytes = automatic ? 0 : static_cast<std::size_t>(size);
  return MPI_SUCCESS;
}

void flush(SendBuffer* buffer) noexcept {
  if (buffer != nullptr) wait_until([&] { return buffer->empty(); });
}

int detach(Call& call, Owner& owner, void* address, MPI_Count* size) noexcept {
  if (owner == nullptr) return call.fail(MPI_ERR_BUFFER, "no buffer is attached");
  flush(owner.get());
  *static_cast<void**>(address) = owner->user;
  *size = static_cast<MPI_Count>(owner->bytes);
  owner.reset();
  return MPI_SUCCESS;
}

int flush_request(SendBuffer* buffer, Comm* comm, MPI_Request* out) noexcept {
  auto work = std::make_unique<FlushWork>();
  work->buffer = buffer;
  *out = handle_of(new_work(comm, std::move(work), false));
  return MPI_SUCCESS;
}

}  // namespace

void flush_all_buffers() noexcept {
  flush(process_buffer().get());
  tables().comms.each([](Comm& comm) { flush(comm.buffer.get()); });
  tables().sessions.each([](Session& session) { flush(session.buffer.get()); });
}

namespace api {

int bsend(Call& call, const void* buf, MPI_Count count, Datatype* datatype, int dest, int tag, Comm* comm) {
  return send_buffered(call, buf, count, *datatype, dest, tag, *comm);
}

int ibsend(Call& call, const void* buf, MPI_Count count, Datatype* datatype, int dest, int tag, Comm* comm,
           MPI_Request* request) {
  const int error = send_buffered(call, buf, count, *datatype, dest, tag, *comm);
  if (error != MPI_SUCCESS) return error;
  *request = handle_of(new_request(comm));
  return MPI_SUCCESS;
}

int bsend_init(Call&, const void* buf, MPI_Count count, Datatype* datatype, int dest, int tag, Comm* comm,
               MPI_Request* request) {
  auto work = std::make_unique<BsendWork>();
  work->buf = buf;
  work->count = count;
  work->datatype = datatype;
  retain(datatype);
  work->dest = dest;
  work->tag = tag;
  work->comm = comm;
  *request = handle_of(new_work(comm, std::move(work), true));
  return MPI_SUCCESS;
}

int buffer_attach(Call& call, void* buffer, MPI_Count size) {
  return attach(call, process_buffer(), buffer, size);
}
int buffer_detach(Call& call, void* address, MPI_Count* size) {
  return detach(call, process_buffer(), address, size);
}
int buffer_flush(Call&) { return flush(process_buffer().get()), MPI_SUCCESS; }
int buffer_iflush(Call&, MPI_Request* request) {
  return flush_request(process_buffer().get(), nullptr, request);
}

int comm_attach_buffer(Call& call, Comm* comm, void* buffer, MPI_Count size) {
  return attach(call, comm->buffer, buffer, size);
}
int comm_detach_buffer(Call& call, Comm* comm, void* address, MPI_Count* size) {
  return detach(call, comm->buffer, address, size);
}
int comm_flush_buffer(Call&, Comm* comm) { return flush(comm->buffer.get()), MPI_SUCCESS; }
int comm_iflush_buffer(Call&, Comm* comm, MPI_Request* request) {
  return flush_request(comm->buffer.get(), comm, request);
}

int session_attach_buffer(Call& call, Session* session, void* buffer, MPI_Count size) {
  return attach(call, session->buffer, buffer, size);
}
int session_detach_buffer(Call& call, Session* session, void* address, MPI_Count* size) {
  return detach(call, session->buffer, address, size);
}
int session_flush_buffer(Call&, Session* session) { return flush(session->buffer.get()), MPI_SUCCESS; }
int session_iflush_buffer(Call&, Session* session, MPI_Request* request) {
  return flush_request(session->buffer.get(), nullptr, request);
}

}  // namespace api
}  // namespace herald::mpi
