// SPDX-License-Identifier: BSD-3-Clause
// Partitioned communication: MPI_Psend_init, MPI_Precv_init, MPI_Pready and its like, MPI_Parrived.
#include "p2p/partitioned.hpp"

#include <cstdio>
#include <map>
#include <tuple>

#include "calls.hpp"
#include "mpi/core/check.hpp"
#include "mpi/core/request_complete.hpp"
#include "mpi/p2p/part_table.hpp"

namespace herald::mpi {

// How many requests there were for a rank and a tag: the n-th send belongs to the n-th receive.
struct PartNumbers {
  std::map<std::tuple<bool, int, int>, std::uint32_t> next;  // sends, rank, tag
};

namespace {

template <class Part>
PartTable<Part>& part_table() noexcept {
  static auto& table = *new PartTable<Part>;
  return table;
}

p2p::Partitioned& partitioned() noexcept { return runtime().engine().messages().partitioned(); }

// While requests are active, each turn sends runs that are short and fails requests whose peer has gone.
int active_requests = 0;
std::uint32_t gone_peers = 0;

bool continue_requests(void*) noexcept {
  engine::Engine& engine = runtime().engine();
  const bool posts = partitioned().has_short_runs();
  if (posts) partitioned().post_short_runs();
  if (engine.peers().gone_count() == gone_peers) return posts;
  gone_peers = engine.peers().gone_count();
  partitioned().abandon([&](p2p::PeerId peer) { return engine.peers().is_gone(peer); });
  return true;
}

// Both directions: the request's life around a PartSend or a PartRecv.
template <class Part>
class PartWork final : public Work {
 public:
  PartWork(const p2p::PartSpec& spec, int source, int tag) noexcept
      : part_(partitioned(), with_owner(spec, this)), source_(source), tag_(tag) {}
  ~PartWork() override { part_table<Part>().clear(handle_); }
  void set_handle(std::uint32_t handle) noexcept { part_table<Part>().set(handle_ = handle, &part_); }

  void start(Request& request) noexcept override {
    request_ = &request;
    if (active_requests++ == 0) {
      gone_peers = 0;
      runtime().engine().hooks().add(continue_requests, nullptr);
    }
    part_.start();
    runtime().engine().messages().send_posted();
  }
  const char* reason() const noexcept override { return reason_; }

 private:
  static p2p::PartSpec with_owner(p2p::PartSpec spec, PartWork* work) noexcept {
    spec.owner = work;
    spec.on_done = [](void* owner, Status status) { static_cast<PartWork*>(owner)->finish(status); };
    return spec;
  }
  void finish(Status status) noexcept {
    if (--active_requests == 0) runtime().engine().hooks().remove(continue_requests, nullptr);
    if constexpr (std::is_same_v<Part, p2p::PartRecv>) {
      request_->source = source_;
      request_->tag = tag_;
      request_->bytes =
          static_cast<std::int64_t>(std::min(part_.received_bytes(), part_.spec().data.total()));
    }
    if (status != Status::ok) explain_status(status);
    finish_work(*request_, error_of(status));
  }
  void explain_status(Status status) noexcept {
    if (status == Status::truncated)
      std::snprintf(reason_, sizeof reason_,
                    "the partitioned message from rank %d with tag %d is longer than the %llu bytes of the "
                    "receive; partitions x count must be as large at both sides",
                    source_, tag_, static_cast<unsigned long long>(part_.spec().data.total()));
    else
      std::snprintf(reason_, sizeof reason_, "rank %d of the job, on host %s, has ended or cannot be reached",
                    part_.spec().key.peer, runtime().engine().peers().host_of(part_.spec().key.peer).c_str());
  }

  Part part_;
  const int source_, tag_;
  std::uint32_t handle_ = 0;
  Request* request_ = nullptr;
  char reason_[200] = "";
};

// Fails the call, or fills `spec`.
int make_spec(Call& call, bool sends, void* buf, int partitions, MPI_Count count, const Datatype& datatype,
              int rank, int tag, Comm& comm, p2p::PartSpec& spec) noexcept {
  const type::Layout& layout = *datatype.layout;
  if (partitions <= 0)
    return call.fail(MPI_ERR_ARG, "argument 2 (partitions) is %d; give 1 or more", partitions);
  MPI_Count items = 0;
  if (__builtin_mul_overflow(static_cast<MPI_Count>(partitions), count, &items) || !layout.fits(items))
    return call.fail(
        MPI_ERR_COUNT,
        "%d partitions of %lld elements span more than 64 bits can address; give a smaller count", partitions,
        static_cast<long long>(count));
  check_buffer(call, buf, items, &datatype, {1, "buf"});
  if (call.failed()) return call.error();
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
  if (comm.partitioned == nullptr) comm.partitioned = std::make_shared<PartNumbers>();
  spec.key = {comm.peer(rank), comm.context, tag, comm.partitioned->next[{sends, rank, tag}]++};
  spec.data = type::Cursor(layout, buf, items);
  spec.partitions = partitions;
  return MPI_SUCCESS;
}

// To or from MPI_PROC_NULL.
template <class Part>
class NullWork final : public Work {
 public:
  ~NullWork() override { part_table<Part>().clear(handle_); }
  void set_handle(std::uint32_t handle) noexcept { part_table<Part>().set(handle_ = handle, nullptr); }
  void start(Request& request) noexcept override {
    request.source = MPI_PROC_NULL;
    finish_work(request, MPI_SUCCESS);
  }

 private:
  std::uint32_t handle_ = 0;
};

template <class Made>
int give_request(Comm* comm, std::unique_ptr<Made> work, MPI_Request* request) noexcept {
  Made& made = *work;
  Request* const object = new_work(comm, std::move(work), true);
  made.set_handle(object->handle);
  *request = handle_of(object);
  return MPI_SUCCESS;
}

int refuse_mark(Call& call, p2p::PartSend::Mark mark, const p2p::PartSend& send, int partition) noexcept {
  switch (mark) {
    case p2p::PartSend::Mark::inactive:
      return call.fail(MPI_ERR_REQUEST, "the request is not active; call MPI_Start before MPI_Pready");
    case p2p::PartSend::Mark::out_of_range:
      return call.fail(MPI_ERR_ARG, "partition %d does not exist; the request has partitions 0 to %d",
                       partition, send.spec().partitions - 1);
    case p2p::PartSend::Mark::twice:
      return call.fail(MPI_ERR_ARG, "partition %d is marked ready already; mark each once after MPI_Start",
                       partition);
    case p2p::PartSend::Mark::ok: break;
  }
  return MPI_SUCCESS;
}

// Marks what `partition_at(0 .. length - 1)` names. The lock is taken to send, or to report an error.
template <class At>
int mark_ready(Call& call, MPI_Request request, std::int64_t length, At partition_at) noexcept {
  const auto* const entry = part_table<p2p::PartSend>().find(request);
  if (entry == nullptr) {
    runtime().enter(call, When::live);
    return call.fail(MPI_ERR_REQUEST, "the request is not a partitioned send; make one with MPI_Psend_init");
  }
  p2p::PartSend* const send = entry->part.load(std::memory_order_relaxed);
  if (send == nullptr) return MPI_SUCCESS;  // to MPI_PROC_NULL
  for (std::int64_t i = 0; i < length; ++i) {
    const p2p::PartSend::Mark mark = send->mark(partition_at(i));
    if (mark == p2p::PartSend::Mark::ok) continue;
    runtime().enter(call, When::live);
    call.blame(find(request)->comm);
    return refuse_mark(call, mark, *send, partition_at(i));
  }
  if (!send->claim_post()) return MPI_SUCCESS;
  runtime().enter(call, When::live);
  send->post_marked(false);
  runtime().engine().messages().send_posted();
  return MPI_SUCCESS;
}

}  // namespace

namespace api {

int psend_init(Call& call, const void* buf, int partitions, MPI_Count count, Datatype* datatype, int dest,
               int tag, Comm* comm, Info*, MPI_Request* request) {
  p2p::PartSpec spec;
  if (make_spec(call, true, const_cast<void*>(buf), partitions, count, *datatype, dest, tag, *comm, spec) !=
      MPI_SUCCESS)
    return call.error();
  if (dest == MPI_PROC_NULL) return give_request(comm, std::make_unique<NullWork<p2p::PartSend>>(), request);
  return give_request(comm, std::make_unique<PartWork<p2p::PartSend>>(spec, MPI_ANY_SOURCE, MPI_ANY_TAG),
                      request);
}

int precv_init(Call& call, void* buf, int partitions, MPI_Count count, Datatype* datatype, int source,
               int tag, Comm* comm, Info*, MPI_Request* request) {
  p2p::PartSpec spec;
  if (make_spec(call, false, buf, partitions, count, *datatype, source, tag, *comm, spec) != MPI_SUCCESS)
    return call.error();
  if (source == MPI_PROC_NULL)
    return give_request(comm, std::make_unique<NullWork<p2p::PartRecv>>(), request);
  return give_request(comm, std::make_unique<PartWork<p2p::PartRecv>>(spec, source, tag), request);
}

int pready(Call& call, int partition, MPI_Request request) {
  return mark_ready(call, request, 1, [&](std::int64_t) { return partition; });
}

int pready_range(Call& call, int partition_low, int partition_high, MPI_Request request) {
  if (partition_low > partition_high) {
    runtime().enter(call, When::live);
    return call.fail(MPI_ERR_ARG,
                     "argument 2 (partition_high) is %d, less than argument 1 (partition_low), %d",
                     partition_high, partition_low);
  }
  return mark_ready(call, request, std::int64_t{partition_high} - partition_low + 1,
                    [&](std::int64_t i) { return static_cast<int>(partition_low + i); });
}

int pready_list(Call& call, int length, const int array_of_partitions[], MPI_Request request) {
  if (length > 0 && array_of_partitions == nullptr) {
    runtime().enter(call, When::live);
    return call.fail(MPI_ERR_ARG, "argument 2 (array_of_partitions) is a null pointer");
  }
  return mark_ready(call, request, length, [&](std::int64_t i) { return array_of_partitions[i]; });
}

int parrived(Call& call, MPI_Request request, int partition, int* flag) {
  if (request == MPI_REQUEST_NULL) return *flag = 1, MPI_SUCCESS;
  const auto* const entry = part_table<p2p::PartRecv>().find(request);
  if (entry == nullptr)
    return call.fail(MPI_ERR_REQUEST,
                     "argument 1 (request) is not a partitioned receive; make one with MPI_Precv_init");
  call.blame(find(request)->comm);
  const p2p::PartRecv* const recv = entry->part.load(std::memory_order_relaxed);
  if (recv == nullptr) return *flag = 1, MPI_SUCCESS;  // from MPI_PROC_NULL
  if (partition < 0 || partition >= recv->spec().partitions)
    return call.fail(MPI_ERR_ARG, "argument 2 (partition) is %d; the request has partitions 0 to %d",
                     partition, recv->spec().partitions - 1);
  if (!recv->has_arrived(partition)) (void)runtime().engine().progress();
  *flag = recv->has_arrived(partition);
  return MPI_SUCCESS;
}

}  // namespace api
}  // namespace herald::mpi
