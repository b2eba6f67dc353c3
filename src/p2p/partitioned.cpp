// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/partitioned.hpp"

#include <algorithm>
#include <utility>

namespace herald::p2p {

using wire::PartHeader;
using wire::PartKind;

namespace {

PartHeader header_of(const PartKey& key, PartKind kind, std::uint32_t round) noexcept {
  PartHeader header{};
  header.context = key.context;
  header.tag = key.tag;
  header.number = key.number;
  header.kind = kind;
  header.round = round;
  return header;
}

PartKey key_of(PeerId peer, const PartHeader& header) noexcept {
  return {peer, header.context, header.tag, header.number};
}

std::uint64_t bytes_of_partition(const PartSpec& spec) noexcept {
  return spec.data.total() / static_cast<std::uint64_t>(spec.partitions);
}

}  // namespace

PartSend::PartSend(Partitioned& all, const PartSpec& spec) noexcept
    : all_(all),
      spec_(spec),
      partition_bytes_(bytes_of_partition(spec)),
      next_(new std::atomic<std::int32_t>[static_cast<std::size_t>(spec.partitions)]),
      states_(static_cast<std::size_t>(spec.partitions)) {
  grants_ = all_.add(*this);
}

PartSend::~PartSend() { all_.sends_.erase(spec_.key); }

void PartSend::start() noexcept {
  for (int i = 0; i < spec_.partitions; ++i) next_[static_cast<std::size_t>(i)].store(kUnmarked);
  std::fill(states_.begin(), states_.end(), State::waiting);
  unposted_.clear();
  head_.store(kEnd);
  marked_ = posted_ = 0;
  ++round_;
  active_.store(true, std::memory_order_release);
}

PartSend::Mark PartSend::mark(int partition) noexcept {
  if (!is_active()) return Mark::inactive;
  if (partition < 0 || partition >= spec_.partitions) return Mark::out_of_range;
  std::atomic<std::int32_t>& next = next_[static_cast<std::size_t>(partition)];
  std::int32_t unmarked = kUnmarked;
  if (!next.compare_exchange_strong(unmarked, kEnd)) return Mark::twice;
  std::int32_t first = head_.load(std::memory_order_relaxed);
  do next.store(first, std::memory_order_relaxed);
  while (!head_.compare_exchange_weak(first, partition, std::memory_order_acq_rel));
  return Mark::ok;
}

void PartSend::take_marks() noexcept {
  for (std::int32_t i = head_.exchange(kEnd, std::memory_order_acq_rel); i != kEnd;
       i = next_[static_cast<std::size_t>(i)].load(std::memory_order_relaxed)) {
    state(i) = State::marked;
    unposted_.push_back(i);
    ++marked_;
  }
}

void PartSend::post_marked(bool short_runs) noexcept {
  (void)claimed_.exchange(false, std::memory_order_acq_rel);
  if (!is_active()) return;
  take_marks();
  if (!is_granted()) return;
  // A message without bytes cannot say which partitions it brings: it says that all are there.
  if (partition_bytes_ == 0 && marked_ != spec_.partitions) return;
  ++open_;  // until all runs are posted: a transfer may be done at once
  std::vector<int> later;
  const bool last = marked_ == spec_.partitions;
  for (const int partition : unposted_)
    if (state(partition) == State::marked && !post_run(partition, short_runs || last))
      later.push_back(partition);
  unposted_ = std::move(later);
  all_.short_runs_ |= !unposted_.empty();
  if (--open_ == 0 && posted_ == spec_.partitions) finish(Status::ok);
}

// Posts the run of marked partitions around this one. False: the run is short and waits.
bool PartSend::post_run(int partition, bool short_runs) noexcept {
  int low = partition, high = partition + 1;
  while (low > 0 && state(low - 1) == State::marked) --low;
  while (high < spec_.partitions && state(high) == State::marked) ++high;
  const std::uint64_t bytes = static_cast<std::uint64_t>(high - low) * partition_bytes_;
  if (!short_runs && bytes < kRunBytes && high - low < kRunPartitions) return false;
  for (int i = low; i < high; ++i) state(i) = State::posted;
  posted_ += high - low;
  auto* transfer = static_cast<Transfer*>(free_.pop_front());
  if (transfer == nullptr) transfer = &transfers_.emplace_back();
  PartHeader header = header_of(spec_.key, PartKind::data, round_);
  header.offset = static_cast<std::uint64_t>(low) * partition_bytes_;
  header.total = spec_.data.total();
  transfer->send = this;
  transfer->to = spec_.key.peer;
  transfer->done = transfer->cancelled = false;
  transfer->status = Status::ok;
  transfer->data = spec_.data;
  transfer->data.narrow(header.offset, bytes);
  transfer->on_done = [](Op& op) { static_cast<Transfer&>(op).send->on_sent(static_cast<Transfer&>(op)); };
  transfer->set(ServiceId::partitioned, std::as_bytes(std::span(&header, 1)));
  ++open_;
  all_.services().post(*transfer);
  return true;
}

void PartSend::on_sent(Transfer& transfer) noexcept {
  const Status status = transfer.status;
  free_.push_front(transfer);
  if (--open_ == 0 && (posted_ == spec_.partitions || status != Status::ok)) finish(status);
}

void PartSend::on_ready() noexcept {
  ++grants_;
  if (is_active()) post_marked(true);
}

// Transfers under way end by themselves: p2p gives them up.
void PartSend::abandon() noexcept {
  if (open_ == 0) finish(Status::peer_lost);
}

void PartSend::finish(Status status) noexcept {
  if (!active_.exchange(false, std::memory_order_acq_rel)) return;
  spec_.on_done(spec_.owner, status);
}

PartRecv::PartRecv(Partitioned& all, const PartSpec& spec) noexcept
    : all_(all),
      spec_(spec),
      partition_bytes_(bytes_of_partition(spec)),
      arrived_(static_cast<std::size_t>(spec.partitions)) {
  all_.recvs_[spec.key] = this;
}

PartRecv::~PartRecv() { all_.recvs_.erase(spec_.key); }

void PartRecv::start() noexcept {
  std::fill(arrived_.begin(), arrived_.end(), 0);
  received_ = total_ = 0;
  active_ = true;
  all_.services().call(spec_.key.peer, ServiceId::partitioned,
                       header_of(spec_.key, PartKind::ready, ++round_));
}

bool PartRecv::has_arrived(int partition) const noexcept {
  return !active_ ||
         (partition_bytes_ != 0 && arrived_[static_cast<std::size_t>(partition)] == partition_bytes_);
}

bool PartRecv::on_data(const PartHeader& header, const ServiceCall& call, type::Cursor& into) noexcept {
  const std::uint64_t bytes = call.bulk_bytes != 0 ? call.bulk_bytes : call.payload.size();
  const std::uint64_t offset = header.offset, total = header.total;
  if (!active_ || header.round != round_ || offset > total || bytes > total - offset ||
      received_ + bytes > total)
    return false;
  total_ = total;
  into = spec_.data;
  into.narrow(offset, bytes);
  if (call.bulk_bytes != 0) return true;
  into.unpack(call.payload.data(), call.payload.size());
  arrive(offset, bytes);
  return true;
}

void PartRecv::on_bulk(const PartHeader& header, Status status, std::uint64_t bytes) noexcept {
  if (!active_ || header.round != round_) return;
  if (status != Status::ok && status != Status::truncated) return finish(status);
  arrive(header.offset, bytes);
}

void PartRecv::arrive(std::uint64_t offset, std::uint64_t bytes) noexcept {
  received_ += bytes;
  for (std::uint64_t at = offset; partition_bytes_ != 0 && at < offset + bytes;) {
    const std::uint64_t partition = at / partition_bytes_;
    if (partition >= arrived_.size()) break;
    const std::uint64_t end = std::min(offset + bytes, (partition + 1) * partition_bytes_);
    arrived_[static_cast<std::size_t>(partition)] += end - at;
    at = end;
  }
  if (received_ == total_) finish(total_ > spec_.data.total() ? Status::truncated : Status::ok);
}

void PartRecv::finish(Status status) noexcept {
  if (std::exchange(active_, false)) spec_.on_done(spec_.owner, status);
}

Partitioned::Partitioned(Services& services) noexcept : services_(services) {
  services_.register_handler(
      ServiceId::partitioned,
      {.on_call = on_call, .on_bulk = on_bulk, .owner = this, .may_run_while_computing = true});
}

std::uint32_t Partitioned::add(PartSend& send) noexcept {
  sends_[send.spec().key] = &send;
  const auto found = early_.find(send.spec().key);
  if (found == early_.end()) return 0;
  const std::uint32_t starts = found->second;
  early_.erase(found);
  return starts;
}

void Partitioned::post_short_runs() noexcept {
  short_runs_ = false;
  for (PartSend* send : active(sends_))
    if (send->holds_short_runs()) send->post_marked(true);
}

bool Partitioned::on_call(void* self, const ServiceCall& call, type::Cursor& into) noexcept {
  auto& all = *static_cast<Partitioned*>(self);
  if (call.header.size() != sizeof(PartHeader)) return false;
  const auto& header = wire::as<PartHeader>(call.header);
  const PartKey key = key_of(call.from, header);
  if (header.kind == PartKind::data) {
    const auto found = all.recvs_.find(key);
    return found != all.recvs_.end() && found->second->on_data(header, call, into);
  }
  if (header.kind != PartKind::ready || call.bulk_bytes != 0) return false;
  const auto found = all.sends_.find(key);
  if (found == all.sends_.end())
    ++all.early_[key];
  else
    found->second->on_ready();
  return true;
}

void Partitioned::on_bulk(void* self, const ServiceCall& call, Status status, std::uint64_t) noexcept {
  auto& all = *static_cast<Partitioned*>(self);
  const auto& header = wire::as<PartHeader>(call.header);
  const auto found = all.recvs_.find(key_of(call.from, header));
  if (found != all.recvs_.end()) found->second->on_bulk(header, status, call.bulk_bytes);
}

}  // namespace herald::p2p
