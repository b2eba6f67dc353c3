// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/queues.hpp"

#include <new>

namespace herald::p2p {
namespace {

constexpr std::uint32_t kFirstBins = 64;
constexpr std::uint32_t kMostBins = 1u << 16;
constexpr std::uint32_t kFill = 4;  // items per bin before there are more bins

bool fits(std::int32_t wanted_source, std::int32_t wanted_tag, std::int32_t source,
          std::int32_t tag) noexcept {
  return (wanted_source == source || wanted_source == kAnySource) &&
         (wanted_tag == tag || wanted_tag == kAnyTag);
}

bool has_wildcard(std::int32_t source, std::int32_t tag) noexcept {
  return source == kAnySource || tag == kAnyTag;
}

}  // namespace

void PostedQueue::add_slow(RecvOp& op) noexcept {
  if (spread_) {
    if (size_ >= bins_.count() * kFill && bins_.count() < kMostBins) spread(bins_.count() * 4);
  } else if (size_ >= kShortQueue) {
    spread(kFirstBins);
  }
  ++size_;
  if (spread_ && !has_wildcard(op.source, op.tag))
    bins_.of(op.source, op.tag).push_back(op);
  else
    list_.push_back(op);
}

// Receives with the same source and tag share a bin and so stay in order among themselves. Bins of an earlier
// long queue are empty and are used again.
void PostedQueue::spread(std::uint32_t bins) noexcept {
  Bins<RecvOp> wider;
  if (!spread_ && bins_.count() >= bins)
    wider.swap(bins_);
  else if (!wider.make(bins))
    return;  // it works as it is, only slower
  if (spread_) {
    for (std::uint32_t i = 0; i < bins_.count(); ++i)
      while (RecvOp* op = bins_.at(i).pop_front()) wider.of(op->source, op->tag).push_back(*op);
  } else {
    RecvOp* after = nullptr;
    for (RecvOp* op = list_.front(); op != nullptr; op = after) {
      after = list_.next(*op);
      if (has_wildcard(op->source, op->tag)) continue;
      op->unlink();
      wider.of(op->source, op->tag).push_back(*op);
    }
  }
  bins_.swap(wider);
  spread_ = true;
}

RecvOp* PostedQueue::find_slow(std::int32_t source, std::int32_t tag) noexcept {
  RecvOp* best = list_.front();
  while (best != nullptr && !fits(best->source, best->tag, source, tag)) best = list_.next(*best);
  if (spread_) {
    List<RecvOp>& bin = bins_.of(source, tag);
    RecvOp* exact = bin.front();
    while (exact != nullptr && !(exact->source == source && exact->tag == tag)) exact = bin.next(*exact);
    if (exact != nullptr && (best == nullptr || exact->order < best->order)) best = exact;
  }
  return best;
}

RecvOp* PostedQueue::find_awaiting(PeerId peer) noexcept {
  const auto find_in = [peer](List<RecvOp>& list) {
    RecvOp* op = list.front();
    while (op != nullptr && op->awaited != peer) op = list.next(*op);
    return op;
  };
  RecvOp* found = find_in(list_);
  for (std::uint32_t i = 0; spread_ && found == nullptr && i < bins_.count(); ++i)
    found = find_in(bins_.at(i));
  return found;
}

RecvOp* PostedQueue::take_awaiting(PeerId peer) noexcept {
  RecvOp* const found = find_awaiting(peer);
  if (found != nullptr) remove(*found);
  return found;
}

void UnexpectedQueue::add(Message& message) noexcept {
  if (spread_) {
    if (size_ >= bins_.count() * kFill && bins_.count() < kMostBins) spread(bins_.count() * 4);
  } else if (size_ >= kShortQueue) {
    spread(kFirstBins);
  }
  ++size_;
  list_.push_back(message);
  if (spread_) bins_.of(message.envelope.source, message.envelope.tag).push_back(message.bin);
}

void UnexpectedQueue::spread(std::uint32_t bins) noexcept {
  Bins<BinLink> wider;
  if (!spread_ && bins_.count() >= bins)
    wider.swap(bins_);
  else if (!wider.make(bins))
    return;
  for (Message* message = list_.front(); message != nullptr; message = list_.next(*message)) {
    message->bin.unlink();
    wider.of(message->envelope.source, message->envelope.tag).push_back(message->bin);
  }
  bins_.swap(wider);
  spread_ = true;
}

void UnexpectedQueue::remove(Message& message) noexcept {
  message.unlink();
  message.bin.unlink();
  if (--size_ == 0) spread_ = false;
}

Message* UnexpectedQueue::find_slow(std::int32_t source, std::int32_t tag) noexcept {
  if (spread_ && !has_wildcard(source, tag)) {
    List<BinLink>& bin = bins_.of(source, tag);
    for (BinLink* link = bin.front(); link != nullptr; link = bin.next(*link))
      if (link->message->envelope.source == source && link->message->envelope.tag == tag)
        return link->message;
    return nullptr;
  }
  for (Message* message = list_.front(); message != nullptr; message = list_.next(*message))
    if (fits(source, tag, message->envelope.source, message->envelope.tag)) return message;
  return nullptr;
}

Message* UnexpectedQueue::find_seq(PeerId from, std::uint32_t seq) noexcept {
  for (Message* message = list_.front(); message != nullptr; message = list_.next(*message))
    if (message->envelope.from == from && message->envelope.seq == seq && !message->envelope.cast)
      return message;
  return nullptr;
}

}  // namespace herald::p2p
