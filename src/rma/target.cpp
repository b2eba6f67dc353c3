// SPDX-License-Identifier: BSD-3-Clause
#include "rma/target.hpp"

#include <algorithm>
#include <utility>

#include "type/describe.hpp"

namespace herald::rma {

using wire::RmaHeader;
using wire::RmaKind;

namespace {

// A reply deletes itself when its payload has left.
struct Reply : p2p::ServiceOp {
  std::vector<std::byte> copy;
};

bool is_data(RmaKind kind) noexcept { return kind >= RmaKind::put && kind <= RmaKind::compare_swap; }

type::Basic basic_of(const RmaHeader& header) noexcept {
  return header.basic < type::kBasics ? static_cast<type::Basic>(header.basic) : type::Basic::none;
}

// The origin has left a fence in which this rank still is.
bool is_early(const RmaHeader& header, bool odd_fence) noexcept {
  return ((header.flags & wire::kRmaOddFence) != 0) != odd_fence;
}

}  // namespace

Target::Target(p2p::Services& services, std::uint64_t window, std::vector<p2p::PeerId> peers,
               int rank) noexcept
    : services_(services), window_(window), peers_(std::move(peers)), rank_(rank), sources_(peers_.size()) {}

bool Target::on_call(const RmaHeader& header, const p2p::ServiceCall& call, type::Cursor& into) noexcept {
  const auto origin = static_cast<int>(header.source);
  Source& from = source(origin);
  const bool waits = !from.waiting.empty() || from.awaits_lock || is_early(header, odd_fence_);
  if (!waits && call.bulk_bytes == 0) {
    apply(header, call.payload);
    return true;
  }
  Record record{header, {call.payload.begin(), call.payload.end()}};
  if (call.bulk_bytes != 0) {
    record.arrived = false;
    type::Cursor place;
    if (!waits && header.kind == RmaKind::put && find(header, place) && place.total() == call.bulk_bytes) {
      record.applied = true;
      into = place;
      check(header, place);
    } else {
      record.payload.resize(static_cast<std::size_t>(call.bulk_bytes));
      into = type::Cursor::bytes(record.payload.data(), record.payload.size());
    }
  }
  from.waiting.push_back(std::move(record));
  return true;
}

void Target::on_bulk(const RmaHeader& header, Status status) noexcept {
  const auto origin = static_cast<int>(header.source);
  Source& from = source(origin);
  const auto found = std::find_if(from.waiting.begin(), from.waiting.end(), [&](const Record& record) {
    return !record.arrived && record.header.number == header.number;
  });
  if (found == from.waiting.end()) return;
  found->arrived = true;
  if (status != Status::ok) found->header.kind = RmaKind::none;  // the origin has gone
  run(origin);
}

void Target::run(int origin) noexcept {
  Source& from = source(origin);
  while (!from.waiting.empty() && !from.awaits_lock && from.waiting.front().arrived &&
         !is_early(from.waiting.front().header, odd_fence_)) {
    const Record record = std::move(from.waiting.front());
    from.waiting.pop_front();
    if (record.applied)
      ++applied_;
    else
      apply(record.header, record.payload);
  }
}

void Target::pass_fence() noexcept {
  odd_fence_ = !odd_fence_;
  for (int origin = 0; origin < static_cast<int>(sources_.size()); ++origin) run(origin);
}

bool Target::find(const RmaHeader& header, type::Cursor& out) noexcept {
  const type::LayoutRef& described = source(static_cast<int>(header.source)).type;
  if ((header.flags & wire::kRmaDescribed) != 0 && !described) return false;
  const type::Layout& layout =
      (header.flags & wire::kRmaDescribed) != 0 ? *described : type::basic_layout(basic_of(header));
  return memory_.find(layout, static_cast<std::int64_t>(std::uint64_t{header.count}), header.offset, out);
}

void Target::apply(const RmaHeader& header, std::span<const std::byte> payload) noexcept {
  const auto origin = static_cast<int>(header.source);
  if (is_data(header.kind)) {
    ++applied_;
    type::Cursor at;
    if (find(header, at)) {
      check(header, at);
      return update(header, at, payload);
    }
    answer(origin, RmaKind::failed, header.id);
    if (header.kind != RmaKind::put && header.kind != RmaKind::accumulate) reply(header, {}, {});
    return;
  }
  switch (header.kind) {
    case RmaKind::type: (void)type::from_description(payload, source(origin).type); break;
    case RmaKind::lock: lock(header); break;
    case RmaKind::unlock: release_lock(origin); [[fallthrough]];
    case RmaKind::flush:
      if ((header.flags & wire::kRmaKeepsEpoch) == 0) end_epoch(origin);
      answer(origin, RmaKind::flushed, header.id);
      break;
    case RmaKind::complete:
      end_epoch(origin);
      ++source(origin).completes;
      break;
    default: break;
  }
}

void Target::check(const RmaHeader& header, const type::Cursor& at) noexcept {
  if (!conflicts_) return;
  const auto origin = static_cast<int>(header.source);
  const std::string text =
      conflicts_->add({origin, header.kind, header.offset, static_cast<std::int64_t>(header.count)}, at);
  if (text.empty()) return;
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  post_reply(header, RmaKind::conflict, {}, {bytes, bytes + text.size()});
}

void Target::update(const RmaHeader& header, const type::Cursor& at,
                    std::span<const std::byte> payload) noexcept {
  const auto bytes = static_cast<std::size_t>(at.total());
  const auto kind = static_cast<op::Kind>(header.op);
  const type::Basic basic = basic_of(header);
  const bool fetches = header.kind == RmaKind::get_accumulate || header.kind == RmaKind::compare_swap;
  std::vector<std::byte> before(fetches ? bytes : 0);
  const bool ignores = header.kind == RmaKind::get_accumulate && kind == op::Kind::no_op;
  switch (header.kind) {
    case RmaKind::put: type::Cursor(at).unpack(payload.data(), payload.size()); return;
    case RmaKind::get: return reply(header, at, {});
    case RmaKind::accumulate:
    case RmaKind::get_accumulate:
      if ((payload.size() == bytes || ignores) && header.op < op::kKinds && may_accumulate(kind, basic))
        accumulate(guard_, at, kind, basic, payload.data(), fetches ? before.data() : nullptr);
      break;
    case RmaKind::compare_swap:
      if (payload.size() == 2 * bytes && at.contiguous())
        compare_and_swap(guard_, at.contiguous_at(), bytes, payload.data(), payload.data() + bytes,
                         before.data());
      break;
    default: break;
  }
  if (fetches) reply(header, {}, std::move(before));
}

void Target::lock(const RmaHeader& header) noexcept {
  const auto origin = static_cast<int>(header.source);
  if (locks_.request(origin, (header.flags & wire::kRmaExclusive) != 0))
    answer(origin, RmaKind::granted, 0);
  else
    source(origin).awaits_lock = true;
}

void Target::release_lock(int origin) noexcept {
  for (const int granted : locks_.release(origin)) {
    source(granted).awaits_lock = false;
    if (granted == rank_) continue;
    answer(granted, RmaKind::granted, 0);
    run(granted);
  }
}

void Target::reply(const RmaHeader& header, type::Cursor data, std::vector<std::byte> copy) noexcept {
  if (copy.empty() && data.total() <= kCopiedReply) {
    copy.resize(static_cast<std::size_t>(data.total()));
    data.pack(copy.data(), copy.size());
  }
  post_reply(header, RmaKind::reply, data, std::move(copy));
}

// The payload is `copy` unless that is empty.
void Target::post_reply(const RmaHeader& header, RmaKind kind, const type::Cursor& data,
                        std::vector<std::byte> copy) noexcept {
  auto* op = new Reply;
  op->copy = std::move(copy);
  op->data = op->copy.empty() ? data : type::Cursor::bytes(op->copy.data(), op->copy.size());
  op->on_done = [](p2p::Op& done) { delete static_cast<Reply*>(&done); };
  op->to = peer(static_cast<int>(header.source));
  RmaHeader answer_header = header;
  answer_header.kind = kind;
  if (kind != RmaKind::reply) answer_header.id = 0;
  answer_header.source = static_cast<std::uint32_t>(rank_);
  op->set(kService, std::as_bytes(std::span(&answer_header, 1)));
  services_.post(*op);
}

void Target::answer(int origin, RmaKind kind, std::uint32_t id) noexcept {
  RmaHeader header{};
  header.window = window_;
  header.kind = kind;
  header.source = static_cast<std::uint32_t>(rank_);
  header.id = id;
  services_.call(peer(origin), kService, header);
}

}  // namespace herald::rma
