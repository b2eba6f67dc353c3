// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/caller.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "base/trace.hpp"
#include "engine/clock.hpp"
#include "mpi/coll/choice.hpp"
#include "mpi/coll/deferred.hpp"
#include "mpi/coll/feedback.hpp"
#include "mpi/coll/op.hpp"
#include "mpi/core/check.hpp"
#include "mpi/core/tables.hpp"

namespace herald::mpi {
namespace {

// Block `i` belongs to MPI_PROC_NULL.
bool is_null(const std::vector<coll::Edge>* edges, std::size_t i) noexcept {
  return edges != nullptr && (*edges)[i].rank == coll::kNoRank;
}

std::size_t count_blocks(const std::vector<coll::Edge>* edges, const Comm& comm) noexcept {
  return edges != nullptr ? edges->size() : static_cast<std::size_t>(comm.partner_count);
}

int no_memory(Call& call) noexcept {
  return call.fail(MPI_ERR_NO_MEM, "no memory for the work area of this collective");
}

bool is_fatal(const Errhandler& handler) noexcept {
  return handler.kind == Errhandler::Kind::fatal || handler.kind == Errhandler::Kind::abort;
}

void detach(Request* request) noexcept {
  if (request->ready()) return destroy(request);
  request->detached = true;
  tables().requests.retire(request);
}

int failed(Call& call, int error) noexcept {
  if (call.failed()) return call.fail(error, "failed");  // the first failure stands
  if (error == MPI_ERR_TRUNCATE)
    return call.fail(
        error, "another rank sent more than this rank's counts and types have room for; they must match");
  return error;
}

// Runs the plan of a blocking call; takes over the caller's count of it.
int run_plan(Call& call, Comm& comm, coll::CachedPlan* cached, const CollBinding& binding) noexcept {
  exec::Runner* runner = make_runner(comm, cached, binding);
  if (runner == nullptr) return no_memory(call);
  const Timed timed{cached->plan.timed_bytes, cached->plan.trial};
  const Instant begun = timed ? engine::read_clock() : Instant{};
  const bool good = runner->run() == Status::ok;
  const int error = good ? MPI_SUCCESS : error_of(*runner);
  if (!runner->mismatch().empty()) [[unlikely]]
    (void)call.fail(error, "%s", mismatch_of(*runner).c_str());
  exec::Runner::recycle(runner);
  // A call that failed here may have succeeded elsewhere: all ranks count it.
  if (timed) note_run(comm, engine::read_clock() - begun, timed);
  return good ? MPI_SUCCESS : failed(call, error);
}

// Starts a nonblocking call; a persistent one waits for MPI_Start. Null: there was no memory for it.
int give_request(Call& call, Comm& comm, std::unique_ptr<Work> work, How how) noexcept {
  if (!work) return no_memory(call);
  *how.request = handle_of(new_work(&comm, std::move(work), how.form == How::Form::keep));
  if (how.form == How::Form::start) runtime().progress_thread(call);
  return MPI_SUCCESS;
}

// Takes over the caller's count of the plan.
int prepare_plan(CommColl& state, coll::CachedPlan* cached) noexcept {
  cached->prepared = true;
  exec::allocate_ahead(state.team, cached);
  state.team.prepare_lane(cached->plan.members);
  process_trace.add(TraceEvent::prepare, std::uint64_t{0}, Trace::text(cached->plan.operation),
                    Trace::text(cached->plan.algorithm));
  coll::release(cached);
  return MPI_SUCCESS;
}

}  // namespace

Caller::Caller(Call& call, Comm& comm, coll::Op op, How how, int root) noexcept
    : call_(call),
      comm_(comm),
      runs_(comm.remote == nullptr ? comm : *comm.both),
      how_(how),
      key_(coll_state(runs_).key),
      spec_(collective_.spec),
      binding_(collective_.binding) {
  spec_.root = root;
  if (comm.remote != nullptr) {
    sides_ = {comm.lower ? 0 : comm.partner_count, comm.lower ? comm.size : 0, comm.partner_count};
    spec_.sides = &sides_;
    if (root == MPI_ROOT) spec_.root = coll::kRootSelf;
    if (root == MPI_PROC_NULL) spec_.root = coll::kRootOwnGroup;
  } else if (!checks_collectives() && how.form != How::Form::prepare) {
    // A hint is local, so it begins no agreement. With the check on, ranks compare their calls first; an
    // agreement would block ranks that do not match.
    consider_segment(comm, how.form == How::Form::keep, how.form != How::Form::start);
  }
  spec_.op = op;
  spec_.rank = comm.rank;
  spec_.size = comm.size;
  spec_.send.buffer = coll::Buffer::send;
  spec_.recv.buffer = coll::Buffer::recv;
  (void)new_key(runs_);
}

bool Caller::check_type(const Datatype* type, Arg arg, std::int64_t index) noexcept {
  if (type != nullptr && type->committed) return true;
  char element[32] = "";
  if (index >= 0) std::snprintf(element, sizeof element, "[%lld]", static_cast<long long>(index));
  return call_.fail(MPI_ERR_TYPE, "argument %d (%s%s) is %s", arg.number, arg.name, element,
                    type == nullptr ? "not a valid datatype: give one that exists"
                                    : "a datatype that is not committed; call MPI_Type_commit first");
}

bool Caller::check_fits(const Datatype& type, MPI_Count count, int blocks, Arg arg) noexcept {
  check_count(call_, count, arg);
  if (call_.failed()) return false;
  if (__builtin_mul_overflow(count, blocks, &count)) count = INT64_MAX;
  if (type.layout->fits(count)) return true;
  return call_.fail(MPI_ERR_COUNT, "argument %d (%s): so many items of this datatype do not fit into memory",
                    arg.number, arg.name);
}

void Caller::check_place(const void* buffer, Arg arg, MPI_Count count, const Datatype& type) noexcept {
  if (is_in_place(buffer))
    (void)call_.fail(MPI_ERR_BUFFER,
                     "argument %d (%s) is MPI_IN_PLACE, which means nothing %s; give a buffer", arg.number,
                     arg.name, at_root() ? "here" : "at this rank");
  else
    check_buffer(call_, buffer, count, &type, arg);
}

void Caller::side(coll::Blocks& blocks, const void*& place, const Data& data, int many) noexcept {
  if (call_.failed() || !check_type(data.type, data.type_arg)) return;
  if (!check_fits(*data.type, data.count, many, data.count_arg)) return;
  check_place(data.buffer, data.buffer_arg, many > 0 ? data.count : 0, *data.type);
  place = data.buffer;
  blocks.layout = data.type->layout.get();
  blocks.count = data.count;
}

const std::vector<coll::Edge>* Caller::edges_of(const coll::Blocks& blocks) const noexcept {
  if (spec_.neighbors == nullptr) return nullptr;
  return &blocks == &spec_.send ? &spec_.neighbors->destinations : &spec_.neighbors->sources;
}

bool Caller::check_counts(std::size_t count, Counts counts, Arg counts_arg) noexcept {
  if (count != 0) check_pointer(call_, counts.null() ? nullptr : this, counts_arg);
  for (std::size_t i = 0; i < count && !call_.failed(); ++i) {
    const MPI_Count items = counts[i];
    if (items < 0)
      (void)call_.fail(MPI_ERR_COUNT, "argument %d (%s[%zu]) is %lld; it must not be negative",
                       counts_arg.number, counts_arg.name, i, static_cast<long long>(items));
  }
  return !call_.failed();
}

template <class Type>
bool Caller::add_rows(const coll::Blocks& blocks, const DataArray<Type>& data) noexcept {
  const std::size_t n = count_blocks(edges_of(blocks), comm_);
  if (!check_counts(n, data.counts, data.counts_arg)) return false;
  if (n != 0) check_pointer(call_, data.displacements.null() ? nullptr : this, data.displacements_arg);
  if (call_.failed()) return false;
  CollCall::Rows& rows = &blocks == &spec_.send ? collective_.send_rows : collective_.recv_rows;
  rows = {true, key_.words().size(), n};
  std::int64_t* words = key_.grow(2 * n);
  for (std::size_t i = 0; i < n; ++i) {
    words[i] = data.counts[i];
    words[n + i] = data.displacements[i];
  }
  return true;
}

void Caller::side(coll::Blocks& blocks, const void*& place, const DataV& data) noexcept {
  if (call_.failed() || !check_type(data.type, data.type_arg) || !add_rows(blocks, data)) return;
  const std::vector<coll::Edge>* edges = edges_of(blocks);
  MPI_Count largest = 0, at_begin = 0;
  for (std::size_t i = 0; i < count_blocks(edges, comm_); ++i) {
    largest = std::max(largest, data.counts[i]);
    if (data.displacements[i] == 0 && !is_null(edges, i)) at_begin = std::max(at_begin, data.counts[i]);
  }
  if (!check_fits(*data.type, largest, 1, data.counts_arg)) return;
  // Displacements may be addresses and the buffer null: only a buffer that is certainly wrong is refused.
  check_place(data.buffer, data.buffer_arg, at_begin, *data.type);
  place = data.buffer;
  blocks.layout = data.type->layout.get();
}

void Caller::side(coll::Blocks& blocks, const void*& place, const DataW& data) noexcept {
  const std::vector<coll::Edge>* edges = edges_of(blocks);
  const std::size_t n = count_blocks(edges, comm_);
  if (call_.failed() || !add_rows(blocks, data)) return;
  if (n != 0) check_pointer(call_, data.type, data.type_arg);
  std::vector<const type::Layout*>& layouts =
      &blocks == &spec_.send ? collective_.send_layouts : collective_.recv_layouts;
  for (std::size_t i = 0; i < n && !call_.failed(); ++i) {
    const bool null_block = is_null(edges, i);
    const Datatype* type = find(null_block ? MPI_BYTE : data.type[i]);
    if (!check_type(type, data.type_arg, static_cast<std::int64_t>(i))) return;
    if (!check_fits(*type, data.counts[i], 1, data.counts_arg)) return;
    if (is_in_place(data.buffer) || (data.displacements[i] == 0 && !null_block))
      check_place(data.buffer, data.buffer_arg, data.counts[i], *type);
    layouts.push_back(type->layout.get());
    key_.add_layout(type->layout.get());
  }
  place = data.buffer;
}

void Caller::reduction(Op* op, Datatype* datatype) noexcept {
  if (call_.failed()) return;
  if (check_op(call_, *op, *datatype) != MPI_SUCCESS) return;
  spec_.commutes = op->commutes;
  binding_.op = op;
  binding_.datatype = datatype;
}

void Caller::send_in_parts(Counts counts, Arg counts_arg) noexcept {
  if (call_.failed() || !check_counts(static_cast<std::size_t>(comm_.size), counts, counts_arg)) return;
  const auto n = static_cast<std::size_t>(comm_.size);
  collective_.send_rows = {true, key_.words().size(), n};
  std::int64_t* words = key_.grow(2 * n);
  std::int64_t at = 0;
  for (std::size_t i = 0; i < n; ++i) {
    words[i] = counts[i];
    words[n + i] = at;
    if (__builtin_add_overflow(at, counts[i], &at))
      (void)call_.fail(MPI_ERR_COUNT, "argument %d (%s): the sum of the counts does not fit 64 bits",
                       counts_arg.number, counts_arg.name);
  }
}

void Caller::distinct(const void* one, Arg one_arg, const void* other, Arg other_arg,
                      std::uint64_t bytes) noexcept {
  if (call_.failed() || spec_.sides != nullptr || bytes == 0 || one == nullptr || one != other) return;
  (void)call_.fail(
      MPI_ERR_BUFFER,
      "arguments %d (%s) and %d (%s) are the same buffer; give MPI_IN_PLACE as one, or two buffers",
      one_arg.number, one_arg.name, other_arg.number, other_arg.name);
}

// The exchange of HERALD_CHECK=collectives alone, counted as a blocking call.
exec::Runner* Caller::make_check(coll::Form form) noexcept {
  auto* cached = new coll::CachedPlan;
  cached->plan = coll::make_check(spec_);
  cached->facts = coll::facts_of(spec_);
  return make_runner(comm_, cached, {.op = binding_.op, .form = form});
}

// In the background: the other ranks may be far from their call, and this one returns to the program.
void Caller::tell_refused() noexcept {
  spec_.bytes = 0;
  if (exec::Runner* check = make_check(coll::Form::refused))
    detach(new_work(&comm_, std::make_unique<CollWork>(check, CollBinding{}), false));
}

// A refused call does not count as a collective: the program may repeat it with right arguments, and then
// matches what the other ranks called. But where calls are compared, the others are told, unless the job ends
// here.
int Caller::finish_failed() noexcept {
  if (checks_collectives() && comm_.remote == nullptr && comm_.size > 1 && !is_fatal(*comm_.errhandler))
    tell_refused();
  return call_.fail(MPI_ERR_INTERN, "failed");  // the first failure stands
}

// The runs of a persistent call are matched by the order of the calls that made it, so these are compared
// with all other collectives here.
int Caller::check_persistent() noexcept {
  exec::Runner* check = make_check(binding_.form);
  if (check == nullptr) return no_memory(call_);
  int error = MPI_SUCCESS;
  if (check->run() != Status::ok) {
    const std::string reason = mismatch_of(*check);
    error = call_.fail(error_of(*check), "%s", reason.empty() ? "failed" : reason.c_str());
  }
  exec::Runner::recycle(check);
  return error;
}

int Caller::go(std::uint64_t bytes) noexcept {
  const bool prepares = how_.form == How::Form::prepare;
  if (call_.failed()) return prepares ? call_.error() : finish_failed();
  spec_.bytes = bytes;
  binding_.recv = const_cast<void*>(recv_);
  binding_.persistent = how_.form == How::Form::keep;
  binding_.form = binding_.persistent             ? coll::Form::persistent
                  : how_.form == How::Form::start ? coll::Form::nonblocking
                                                  : coll::Form::blocking;
  CommColl& state = coll_state(runs_);
  if (comm_.remote == nullptr) {
    // Blocking calls have waited for the end of the agreement. Plans made before it are dropped then.
    if (prepares && state.team.agreeing()) return MPI_SUCCESS;
    if (state.team.agreeing())
      return give_request(call_, comm_, std::make_unique<DeferredColl>(comm_, collective_, key_), how_);
    state.team.describe_segment(spec_, binding_.persistent);
  }
  coll::CachedPlan* cached = find_plan(runs_, collective_, key_);
  if (call_key_ != nullptr && !binding_.persistent && !cached->plan.checked &&
      (state.team.tried_segment() || comm_.size == 1))
    state.call_cache.add(*call_key_, cached);
  if (how_.form == How::Form::wait) return run_plan(call_, runs_, cached, binding_);
  if (prepares) return prepare_plan(state, cached);
  if (binding_.persistent && cached->plan.checked)
    if (const int error = check_persistent(); error != MPI_SUCCESS) {
      coll::release(cached);
      return error;
    }
  return give_request(call_, comm_, make_work(runs_, cached, binding_), how_);
}

int run_again(Call& call, Comm& comm, coll::CachedPlan* cached, const CollBinding& binding,
              How how) noexcept {
  if (how.form == How::Form::wait) return run_plan(call, comm, cached, binding);
  return give_request(call, comm, make_work(comm, cached, binding), how);
}

}  // namespace herald::mpi
