// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/rma/access.hpp"

#include <array>
#include <cstring>
#include <utility>

#include "mpi/core/check.hpp"
#include "mpi/core/request_complete.hpp"
#include "p2p/split_copy.hpp"
#include "type/pack.hpp"

namespace herald::mpi {
namespace {

using wire::RmaKind;

constexpr std::uint64_t kBeforeGrant = 4096;  // bytes that a target keeps until it grants the lock

// Requests that await a reply. A target that ends fails them.
int open_requests = 0;
std::uint32_t gone_seen = 0;

bool abandon_gone(void*) noexcept {
  engine::Engine& engine = runtime().engine();
  if (engine.peers().gone_count() == gone_seen) return false;
  gone_seen = engine.peers().gone_count();
  rma_endpoint().each([&](rma::Window& window) {
    for (std::size_t i = 0; i < window.peers.size(); ++i)
      if (engine.peers().is_gone(window.peers[i])) window.origin.abandon(static_cast<int>(i));
  });
  return true;
}

// An operation by service calls that the program waits for with a request.
class AccessWork final : public Work {
 public:
  AccessWork(const Win& win, const rma::Place& place, rma::Operation operation) noexcept
      : window_(win.state->window), win_(handle_of(&win)), place_(place), operation_(std::move(operation)) {}

  void start(Request& request) noexcept override {
    request_ = &request;
    engine::Engine& engine = runtime().engine();
    if (open_requests++ == 0) {
      gone_seen = 0;
      engine.hooks().add(abandon_gone, nullptr);
    }
    operation_.context = this;
    operation_.on_complete = [](void* self, Status status) {
      static_cast<AccessWork*>(self)->finish(status);
    };
    window_.origin.start(place_, std::move(operation_));
    engine.messages().send_posted();
  }
  // Errors of the operation go to the handler of the window, if it still exists.
  Win* window() const noexcept override { return find(win_); }
  const char* reason() const noexcept override { return reason_.c_str(); }

 private:
  void finish(Status status) noexcept {
    engine::Engine& engine = runtime().engine();
    if (--open_requests == 0) engine.hooks().remove(abandon_gone, nullptr);
    if (status != Status::ok)
      reason_ = "rank " + std::to_string(place_.target) + " of the window, on host " +
                engine.peers().host_of(window_.peers[static_cast<std::size_t>(place_.target)]) +
                ", has ended or cannot be reached";
    finish_work(*request_, error_of(status));
  }
  rma::Window& window_;
  const MPI_Win win_;
  std::string reason_;
  rma::Place place_;
  rma::Operation operation_;
  Request* request_ = nullptr;
};

Status copy_by_kernel(p2p::Mover& mover, p2p::PeerId peer, type::Cursor here, type::Cursor there,
                      bool writes) noexcept {
  std::array<type::Run, wire::kMaxRuns> ours, theirs;
  while (here.remaining() != 0) {
    const std::uint64_t position = here.position();
    std::size_t our_count = here.next_runs(ours, SIZE_MAX);
    const std::size_t their_count =
        there.next_runs(theirs, static_cast<std::size_t>(here.position() - position));
    if (here.position() != there.position()) {
      const std::uint64_t bytes = there.position() - position;
      here.seek(position);
      our_count = here.next_runs(ours, static_cast<std::size_t>(bytes));
    }
    const std::span<const type::Run> from_here(ours.data(), our_count), to_there(theirs.data(), their_count);
    const Status status =
        writes ? mover.write(peer, from_here, to_there) : mover.read(peer, from_here, to_there);
    if (status != Status::ok) return status;
  }
  return Status::ok;
}

class Runner {
 public:
  Runner(Call& call, const Access& access) noexcept
      : call_(call), access_(access), state_(state_of(*access.win)), member_(state_.member(access.target)) {}

  int run() noexcept {
    if (const char* reason = access_.request == nullptr ? nullptr : state_.epochs.use_passive(access_.target))
      return refuse(call_, reason, access_.args->target, access_.target);
    if (!check_elements() || !check_buffers() || !find_place()) return call_.error();
    if (prepare_access(call_, state_, access_.target, access_.args->target) != MPI_SUCCESS)
      return call_.error();
    if (bytes_ == 0) return finish_at_once();
    switch (member_.route) {
      case Route::own:
        if (state_.checks && !check_own()) return call_.error();
        [[fallthrough]];
      case Route::mapped: return update_memory();
      case Route::copied:
        if (access_.kind == RmaKind::put || access_.kind == RmaKind::get) return copy();
        return call_target();
      case Route::service: return call_target();
    }
    return MPI_ERR_INTERN;
  }

 private:
  bool updates() const noexcept { return access_.kind != RmaKind::put && access_.kind != RmaKind::get; }
  op::Kind op() const noexcept {
    return access_.op == nullptr ? op::Kind::replace : static_cast<op::Kind>(access_.op->builtin);
  }
  const type::Layout& layout() const noexcept { return *access_.type->layout; }

  bool check_own() noexcept {
    const std::string text = state_.window.target.conflicts()->add(
        {access_.target, access_.kind, place_.offset, place_.count}, at_);
    if (!text.empty()) (void)call_.fail(MPI_ERR_RMA_CONFLICT, "%s", text.c_str());
    return text.empty();
  }

  bool check_elements() noexcept {
    basic_ = layout().basic();
    if (!updates()) return true;
    const bool user = access_.op != nullptr && access_.op->kind != mpi::Op::Kind::predefined;
    if (basic_ == type::Basic::none && layout().size() != 0)
      (void)call_.fail(MPI_ERR_TYPE, "the target datatype mixes kinds of elements; all must be of one kind");
    else if (user)
      (void)call_.fail(MPI_ERR_OP, "argument op was made by MPI_Op_create; use a predefined operation");
    else if (access_.kind != RmaKind::compare_swap && layout().size() != 0 && access_.count != 0 &&
             !rma::may_accumulate(op(), basic_))
      (void)call_.fail(MPI_ERR_OP, "%s is not defined on these elements", access_.op->name);
    return !call_.failed();
  }

  bool check_buffer(const OriginBuffer& buffer, Arg arg) noexcept {
    if (buffer.type == nullptr)
      (void)call_.fail(MPI_ERR_TYPE, "argument %d: its datatype is null; give a valid one", arg.number);
    else if (!buffer.type->committed)
      (void)call_.fail(MPI_ERR_TYPE, "argument %d: its datatype is not committed; call MPI_Type_commit first",
                       arg.number);
    else if (!buffer.type->layout->fits(buffer.count))
      (void)call_.fail(MPI_ERR_COUNT, "argument %d: the elements span more than 64 bits can address",
                       arg.number);
    else if (buffer.cursor().total() != bytes_)
      (void)call_.fail(MPI_ERR_TRUNCATE,
                       "argument %d (%s) has %llu bytes, but there are %llu at the target; both sides must "
                       "have as many",
                       arg.number, arg.name, static_cast<unsigned long long>(buffer.cursor().total()),
                       static_cast<unsigned long long>(bytes_));
    else
      mpi::check_buffer(call_, buffer.address, buffer.count, buffer.type, arg);
    return !call_.failed();
  }

  bool check_buffers() noexcept {
    if (!layout().fits(access_.count)) {
      (void)call_.fail(MPI_ERR_COUNT, "the elements at the target span more than 64 bits can address");
      return false;
    }
    bytes_ = static_cast<std::uint64_t>(layout().size()) * static_cast<std::uint64_t>(access_.count);
    const bool ignores_data =
        access_.kind == RmaKind::get || (op() == op::Kind::no_op && access_.result.type);
    if (!ignores_data) {
      if (!check_buffer(access_.data, access_.args->data)) return false;
      data_ = access_.data.cursor();
    }
    if (access_.kind == RmaKind::put || access_.kind == RmaKind::accumulate) return true;
    if (!check_buffer(access_.result, access_.args->result)) return false;
    result_ = access_.result.cursor();
    return true;
  }

  bool find_place() noexcept {
    std::int64_t offset = 0;
    const bool overflows =
        __builtin_mul_overflow(static_cast<std::int64_t>(access_.disp), member_.disp_unit, &offset);
    place_ = {access_.target, static_cast<std::uint64_t>(offset), &layout(), access_.count};
    if (bytes_ == 0) return true;
    if (state_.dynamic) {  // the target checks the others
      if (member_.route != Route::own) return true;
      if (state_.window.target.memory().find(layout(), access_.count, place_.offset, at_)) return true;
    } else if (!overflows && rma::is_inside(layout(), access_.count, place_.offset, member_.size)) {
      at_ = type::Cursor(layout(), member_.base + offset, access_.count);
      return true;
    }
    (void)call_.fail(MPI_ERR_RMA_RANGE,
                     "argument %d (%s) is %lld: the %llu bytes there are not all in the window of rank %d, "
                     "which has %llu bytes in units of %lld",
                     access_.args->disp.number, access_.args->disp.name, static_cast<long long>(access_.disp),
                     static_cast<unsigned long long>(bytes_), access_.target,
                     static_cast<unsigned long long>(member_.size),
                     static_cast<long long>(member_.disp_unit));
    return false;
  }

  int finish_at_once() noexcept {
    if (access_.request != nullptr) *access_.request = handle_of(new_request(access_.win->comm));
    return MPI_SUCCESS;
  }

  // `cursor` as packed bytes, copied to `copy` if they lie scattered.
  static std::byte* packed(type::Cursor cursor, std::vector<std::byte>& copy, bool fill) noexcept {
    if (cursor.contiguous()) return static_cast<std::byte*>(cursor.contiguous_at());
    copy.resize(static_cast<std::size_t>(cursor.total()));
    if (fill) cursor.pack(copy.data(), copy.size());
    return copy.data();
  }

  int update_memory() noexcept {
    turn_now_and_then();
    if (access_.kind != RmaKind::get) state_.has_stores = true;
    std::vector<std::byte> data_copy, result_copy;
    switch (access_.kind) {
      case RmaKind::put: (void)type::copy(data_, at_); return finish_at_once();
      case RmaKind::get: (void)type::copy(at_, result_); return finish_at_once();
      default: break;
    }
    const std::byte* data = packed(data_, data_copy, true);
    std::byte* result = result_.total() == 0 ? nullptr : packed(result_, result_copy, false);
    if (access_.kind == RmaKind::compare_swap)
      rma::compare_and_swap(member_.guard, at_.contiguous_at(), static_cast<std::size_t>(bytes_), data,
                            access_.compared, result);
    else
      rma::accumulate(member_.guard, at_, op(), basic_, data, result);
    if (!result_copy.empty()) result_.unpack(result_copy.data(), result_copy.size());
    return finish_at_once();
  }

  int copy() noexcept {
    if (await_grant(call_, state_, access_.target) != MPI_SUCCESS) return call_.error();
    p2p::Mover* mover = runtime().engine().memory().mover();
    const bool writes = access_.kind == RmaKind::put;
    const Status status = mover == nullptr
                              ? Status::unsupported
                              : copy_by_kernel(*mover, member_.peer, writes ? data_ : result_, at_, writes);
    if (status == Status::ok) return finish_at_once();
    if (status == Status::peer_lost) return fail_lost(call_, member_.peer);
    member_.route = Route::service;  // the kernel refuses
    return call_target();
  }

  int call_target() noexcept {
    if (bytes_ > kBeforeGrant && await_grant(call_, state_, access_.target) != MPI_SUCCESS)
      return call_.error();
    if (runtime().engine().peers().is_gone(member_.peer)) return fail_lost(call_, member_.peer);
    rma::Operation operation;
    operation.kind = access_.kind;
    operation.op = op();
    operation.basic = basic_;
    operation.result = result_;
    operation.data = data_;
    if (access_.kind == RmaKind::compare_swap) {
      const auto bytes = static_cast<std::size_t>(bytes_);
      operation.copy.resize(2 * bytes);
      std::memcpy(operation.copy.data(), access_.data.address, bytes);
      std::memcpy(operation.copy.data() + bytes, access_.compared, bytes);
      operation.data = type::Cursor::bytes(operation.copy.data(), operation.copy.size());
    }
    if (access_.request != nullptr) {
      auto work = std::make_unique<AccessWork>(*access_.win, place_, std::move(operation));
      *access_.request = handle_of(new_work(access_.win->comm, std::move(work), false));
      return MPI_SUCCESS;
    }
    state_.window.origin.start(place_, std::move(operation));
    runtime().engine().messages().send_posted();
    return MPI_SUCCESS;
  }

  Call& call_;
  const Access& access_;
  WinState& state_;
  WinMember& member_;
  type::Basic basic_ = type::Basic::none;
  std::uint64_t bytes_ = 0;
  rma::Place place_{};
  type::Cursor data_, result_, at_;
};

}  // namespace

int run_access(Call& call, const Access& access) noexcept {
  if (access.target != MPI_PROC_NULL) return Runner(call, access).run();
  if (access.request == nullptr) return MPI_SUCCESS;
  Request* request = new_request(access.win->comm);
  request->source = MPI_PROC_NULL;
  *access.request = handle_of(request);
  return MPI_SUCCESS;
}

}  // namespace herald::mpi
