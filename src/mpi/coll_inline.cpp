// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll_inline.cpp: blocking calls whose plan is brief: what this rank has to do is a step or two, of a
// fused exchange or of messages, so it goes without the runner of plans (coll_run.cpp).
#include <algorithm>
#include <memory>
#include <new>
#include <span>

#include "mpi/coll_run.hpp"
#include "mpi/op.hpp"
#include "mpi/request_complete.hpp"
#include "type/pack.hpp"

namespace herald::mpi {

void fill_fused(p2p::FusedOp& op, const Comm& comm, const coll::Step& step, const coll::Places& places,
                std::uint32_t number) noexcept {
  op.step = step.kind == coll::StepKind::contribute ? p2p::FusedStep::report
            : step.kind == coll::StepKind::gather   ? p2p::FusedStep::collect
                                                    : p2p::FusedStep::tell;
  op.lane = static_cast<CommColl&>(*comm.coll).lane;
  op.number = number;
  op.members = static_cast<std::uint32_t>(step.partner);
  op.data = cursor(step.a, places);
  if (step.kind == coll::StepKind::contribute) op.into = cursor(step.b, places);
}

namespace {

// The messages of a brief plan: sends that do not leave at once are waited for together, at the end.
class Messages {
 public:
  Messages(const Comm& comm, std::int32_t tag) noexcept : comm_(comm), tag_(tag) {}
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;
  ~Messages() { std::destroy_n(waiting().data(), waiting_count_); }

  void send(const coll::Step& step, const coll::Places& places) noexcept {
    const type::Cursor data = cursor(step.a, places);
    const p2p::PeerId to = comm_.peer(step.partner);
    if (data.contiguous() && runtime().engine().send_now({.context = context(),
                                                          .data = data.contiguous_at(),
                                                          .bytes = data.total(),
                                                          .to = to,
                                                          .tag = tag_ | step.tag,
                                                          .source = comm_.rank}))
      return;
    p2p::SendOp& op = *::new (room_ + waiting_count_++ * sizeof(p2p::SendOp)) p2p::SendOp();
    fill(op, step, data);
    op.to = to;
    op.source = comm_.rank;
    runtime().engine().start(op);
  }
  int receive(const coll::Step& step, const coll::Places& places) const noexcept {
    p2p::RecvOp op;
    fill(op, step, cursor(step.a, places));
    op.source = step.partner;
    op.awaited = comm_.peer(step.partner);
    op.at_once = true;
    if (!runtime().engine().receive_now(op)) runtime().engine().start(op);
    if (!op.done) wait_until([&] { return op.done; });
    return op.status == Status::ok ? MPI_SUCCESS : error_of(op.status);
  }
  int wait() noexcept {
    if (waiting_count_ == 0) return MPI_SUCCESS;
    const std::span<p2p::SendOp> all = waiting();
    wait_until([&] { return std::all_of(all.begin(), all.end(), [](const auto& op) { return op.done; }); });
    for (const p2p::SendOp& op : all)
      if (op.status != Status::ok) return error_of(op.status);
    return MPI_SUCCESS;
  }

 private:
  std::uint64_t context() const noexcept { return comm_.context | kCollective; }
  std::span<p2p::SendOp> waiting() noexcept {
    return {std::launder(reinterpret_cast<p2p::SendOp*>(room_)), waiting_count_};
  }
  void fill(p2p::Op& op, const coll::Step& step, const type::Cursor& data) const noexcept {
    op.context = context();
    op.tag = tag_ | step.tag;
    op.data = data;
  }

  const Comm& comm_;
  std::int32_t tag_;
  std::size_t waiting_count_ = 0;
  alignas(p2p::SendOp) std::byte room_[coll::kInlineMessages * sizeof(p2p::SendOp)];  // most never need it
};

// A step that needs nobody.
int do_here(const coll::Step& step, const coll::Places& places, const Execution::Binding& binding) noexcept {
  if (step.kind == coll::StepKind::reduce)
    return reduce_into(*binding.op, *binding.datatype, places.of(step.a), places.of(step.b), step.a.count);
  type::Cursor from = cursor(step.a, places), to = cursor(step.b, places);
  const bool fits = from.total() <= to.total();
  type::copy(from, to);
  return fits ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
}

int run_messages(Comm& comm, const coll::Plan& plan, const coll::Places& places,
                 const Execution::Binding& binding) noexcept {
  Messages messages(comm, tag_of_run(comm.collective_count++));
  int error = MPI_SUCCESS;
  for (std::uint32_t i = 0; i < plan.size(); ++i) {
    const coll::Step& step = plan.steps[i];
    int one = MPI_SUCCESS;
    if (step.kind == coll::StepKind::send)
      messages.send(step, places);
    else if (step.kind == coll::StepKind::recv)
      one = messages.receive(step, places);
    else
      one = do_here(step, places, binding);
    if (error == MPI_SUCCESS) error = one;
  }
  const int sent = messages.wait();
  return error == MPI_SUCCESS ? sent : error;
}

}  // namespace

int run_inline(Comm& comm, const coll::Plan& plan, const Execution::Binding& binding) noexcept {
  alignas(64) std::byte scratch[coll::kInlineScratch];
  coll::Places places;
  places.at[0] = reinterpret_cast<std::uintptr_t>(binding.send);
  places.at[1] = reinterpret_cast<std::uintptr_t>(binding.recv);
  places.at[2] = reinterpret_cast<std::uintptr_t>(scratch);
  ++coll_counters.runs;
  if (!plan.has_fused) return run_messages(comm, plan, places, binding);
  const std::uint32_t number = static_cast<CommColl&>(*comm.coll).fused_count++;
  ++comm.collective_count;
  int error = MPI_SUCCESS;
  const auto note = [&](int one) {
    if (error == MPI_SUCCESS) error = one;
  };
  for (std::uint32_t i = 0; i < plan.size(); ++i) {
    const coll::Step& step = plan.steps[i];
    if (step.kind == coll::StepKind::copy || step.kind == coll::StepKind::reduce) {
      note(do_here(step, places, binding));
    } else {
      p2p::FusedOp op;
      fill_fused(op, comm, step, places, number);
      runtime().engine().fused(op);
      if (op.status != Status::ok) note(error_of(op.status));
    }
  }
  return error;
}

}  // namespace herald::mpi
