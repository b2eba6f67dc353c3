// SPDX-License-Identifier: BSD-3-Clause
#include "rma/origin.hpp"

#include <utility>

#include "base/fatal.hpp"
#include "rma/target.hpp"
#include "type/describe.hpp"

namespace herald::rma {

using wire::RmaHeader;
using wire::RmaKind;

struct Origin::Pending : p2p::ServiceOp {
  Operation operation;
  Origin* origin = nullptr;
  int target = 0;
  std::uint32_t id_of_reply = 0;
  int parts = 1;  // that are not complete: the payload, the reply
  bool long_reply = false;
  Status result_status = Status::ok;
};

Origin::Origin(p2p::Services& services, std::uint64_t window, std::vector<p2p::PeerId> peers,
               int rank) noexcept
    : services_(services), window_(window), peers_(std::move(peers)), rank_(rank), states_(peers_.size()) {}

RmaHeader Origin::header_to(int target, RmaKind kind) noexcept {
  RmaHeader header{};
  header.window = window_;
  header.kind = kind;
  header.source = static_cast<std::uint32_t>(rank_);
  header.number = state(target).number++;
  header.flags = odd_fence_ ? wire::kRmaOddFence : 0;
  return header;
}

// A gap-free layout of one kind needs no description: it is an array of elements, or of bytes.
void Origin::place_in(RmaHeader& header, const Place& place, type::Basic basic, bool accumulates) noexcept {
  const type::Layout& type = *place.type;
  const type::BasicRow& row = type::row_of(basic);
  header.basic = static_cast<std::uint8_t>(basic);
  header.offset = place.offset;
  header.count = static_cast<std::uint64_t>(place.count);
  const bool is_run = type.dense() || (type.run() && place.count == 1);
  if (is_run && (!accumulates || row.size == row.extent)) {
    if (!accumulates) header.basic = static_cast<std::uint8_t>(type::Basic::byte);
    header.offset = place.offset + static_cast<std::uint64_t>(type.true_lb());
    header.count = static_cast<std::uint64_t>(type.size() * place.count / (accumulates ? row.size : 1));
  } else if (!accumulates || &type != &type::basic_layout(basic)) {
    header.flags |= wire::kRmaDescribed;
  }
}

void Origin::describe_to(int target, const type::Layout& type) noexcept {
  State& to = state(target);
  if (to.type.get() == &type) return;
  to.type = type::LayoutRef(&type);
  Operation description;
  description.copy = type::describe(type);
  description.data = type::Cursor::bytes(description.copy.data(), description.copy.size());
  (void)post(target, header_to(target, RmaKind::type), std::move(description));
}

void Origin::start(const Place& place, Operation operation) noexcept {
  const RmaKind kind = operation.kind;
  RmaHeader header = header_to(place.target, kind);
  place_in(header, place, operation.basic, kind != RmaKind::put && kind != RmaKind::get);
  if ((header.flags & wire::kRmaDescribed) != 0) describe_to(place.target, *place.type);
  header.op = static_cast<std::uint8_t>(operation.op);
  State& to = state(place.target);
  ++to.sent;
  to.unflushed = operation.result.total() == 0;  // a reply tells that all before has taken effect
  (void)post(place.target, header, std::move(operation));
}

Origin::Pending* Origin::post(int target, const RmaHeader& header, Operation operation) noexcept {
  auto* pending = new Pending;
  pending->operation = std::move(operation);
  pending->origin = this;
  pending->target = target;
  pending->to = peers_[static_cast<std::size_t>(target)];
  pending->data = pending->operation.data;
  pending->on_done = [](p2p::Op& done) {
    auto& self = static_cast<Pending&>(done);
    self.origin->end_part(self, self.status);
  };
  RmaHeader sent = header;
  const std::uint64_t result_bytes = pending->operation.result.total();
  State& to = state(target);
  ++to.open;
  if (result_bytes != 0) {
    pending->parts = 2;
    pending->id_of_reply = replies_.add(*pending);
    HERALD_ASSERT(pending->id_of_reply != 0 && "too many one-sided operations await a reply");
    sent.id = pending->id_of_reply;
    pending->long_reply = result_bytes > kCopiedReply;
    to.long_replies += pending->long_reply ? 1 : 0;
  }
  pending->set(kService, std::as_bytes(std::span(&sent, 1)));
  services_.post(*pending);
  return pending;
}

// The payload of a lost peer ends with an error, and its reply will not come.
void Origin::end_part(Pending& pending, Status status) noexcept {
  if (status != Status::ok) {
    pending.result_status = status;
    if (pending.parts == 2 && pending.id_of_reply != 0) {
      replies_.remove(pending.id_of_reply);
      pending.id_of_reply = 0;
      pending.parts = 1;
    }
  }
  if (--pending.parts != 0) return;
  State& from = state(pending.target);
  --from.open;
  from.long_replies -= pending.long_reply ? 1 : 0;
  const Operation& operation = pending.operation;
  if (operation.on_complete != nullptr) operation.on_complete(operation.context, pending.result_status);
  delete &pending;
}

void Origin::tell(int target, RmaKind kind, std::uint8_t flags, std::uint32_t id) noexcept {
  RmaHeader header = header_to(target, kind);
  header.flags |= flags;
  header.id = id;
  services_.call(peers_[static_cast<std::size_t>(target)], kService, header);
}

void Origin::lock(int target, bool exclusive) noexcept {
  state(target).granted = false;
  tell(target, RmaKind::lock, exclusive ? wire::kRmaExclusive : 0, 0);
}

void Origin::unlock(int target) noexcept {
  state(target).unflushed = false;
  tell(target, RmaKind::unlock, 0, ++state(target).flushes);
}

void Origin::flush(int target, bool keeps_epoch) noexcept {
  state(target).unflushed = false;
  tell(target, RmaKind::flush, keeps_epoch ? wire::kRmaKeepsEpoch : 0, ++state(target).flushes);
}

bool Origin::on_call(const RmaHeader& header, const p2p::ServiceCall& call, type::Cursor& into) noexcept {
  State& from = state(static_cast<int>(header.source));
  switch (header.kind) {
    case RmaKind::granted: from.granted = true; return true;
    case RmaKind::flushed: from.flushed = header.id; return true;
    case RmaKind::posted: ++from.posts; return true;
    case RmaKind::failed: from.failed = true; return true;
    case RmaKind::conflict:
      conflict_.assign(reinterpret_cast<const char*>(call.payload.data()), call.payload.size());
      if (conflict_.empty()) conflict_ = "two operations are on the same memory in one epoch";
      return true;
    case RmaKind::reply: break;
    default: return false;
  }
  Pending* pending = replies_.find(header.id);
  if (pending == nullptr || pending->target != static_cast<int>(header.source)) return false;
  if (call.bulk_bytes != 0) {
    into = pending->operation.result;
    return true;
  }
  pending->operation.result.unpack(call.payload.data(), call.payload.size());
  on_bulk(header, Status::ok);
  return true;
}

void Origin::on_bulk(const RmaHeader& header, Status status) noexcept {
  Pending* pending = replies_.find(header.id);
  if (pending == nullptr || pending->target != static_cast<int>(header.source)) return;
  replies_.remove(std::exchange(pending->id_of_reply, 0));
  if (status != Status::ok) pending->result_status = status;
  end_part(*pending, Status::ok);
}

void Origin::abandon(int target) noexcept {
  replies_.for_each([&](Pending& pending) {
    if (pending.target != target) return;
    replies_.remove(std::exchange(pending.id_of_reply, 0));
    pending.result_status = Status::peer_lost;
    end_part(pending, Status::ok);
  });
}

}  // namespace herald::rma
