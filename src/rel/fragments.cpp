// SPDX-License-Identifier: BSD-3-Clause
#include "rel/fragments.hpp"

#include <algorithm>
#include <cstring>

namespace herald::rel {
namespace {

// Copies bytes [at, at + count) of a datagram in two parts.
void copy_range(const Tx& whole, std::size_t at, std::size_t count, std::byte* to) noexcept {
  const std::size_t first = whole.datagram.size();
  const std::size_t head = at < first ? std::min(count, first - at) : 0;
  if (head != 0) std::memcpy(to, whole.datagram.data() + at, head);
  if (head != count) std::memcpy(to + head, whole.rest.data() + (at + head - first), count - head);
}

}  // namespace

void Splitter::split(const Tx& whole, std::size_t segment, const wire::Seal& seal, std::int32_t from,
                     std::uint32_t receiver) noexcept {
  constexpr std::size_t kHead = sizeof(wire::DatagramHead);
  const std::size_t total = whole.datagram.size() + whole.rest.size();
  const std::size_t step = (segment - wire::kFragmentHead) / wire::kFragmentUnit * wire::kFragmentUnit;
  ++number_;
  for (std::size_t at = 0; at < total; at += step) {
    const std::size_t count = std::min(step, total - at);
    Part part{whole.to, whole.link, std::vector<std::byte>(wire::kFragmentHead + count)};
    std::byte* const bytes = part.bytes.data();
    const wire::FragmentPart place{static_cast<std::uint16_t>(total), static_cast<std::uint16_t>(at)};
    wire::write_head(bytes, wire::DatagramKind::fragment, 0, seal, from, number_);
    std::memcpy(bytes + kHead, &place, sizeof place);
    copy_range(whole, at, count, bytes + wire::kFragmentHead);
    wire::seal(seal, receiver, seal.body_crc({bytes + kHead, sizeof place + count}), {bytes, kHead});
    parts_.push_back(std::move(part));
  }
}

void Splitter::discard_sent() noexcept {
  parts_.erase(parts_.begin(), parts_.begin() + static_cast<std::ptrdiff_t>(next_));
  next_ = 0;
}

void Splitter::fill(TxBatch& out) noexcept {
  discard_sent();
  for (; next_ != parts_.size() && !out.full(); ++next_)
    out.entries[out.count++] = {parts_[next_].to, parts_[next_].link, parts_[next_].bytes};
}

Joiner::Incomplete& Joiner::find(const wire::DatagramView& fragment, bool by_group,
                                 std::size_t total) noexcept {
  for (Incomplete& each : all_)
    if (each.used && each.from == fragment.from && each.number == fragment.seq && each.by_group == by_group &&
        each.bytes.size() == total)
      return each;
  if (all_.size() < kMost) {
    all_.emplace_back();
    oldest_ = all_.size() - 1;
  } else {
    oldest_ = (oldest_ + 1) % kMost;
  }
  Incomplete& place = all_[oldest_];
  place.from = fragment.from;
  place.number = fragment.seq;
  place.by_group = by_group;
  place.used = true;
  place.bytes.resize(total);
  place.came.reset();
  return place;
}

std::span<const std::byte> Joiner::add(const wire::DatagramView& fragment, bool by_group) noexcept {
  wire::FragmentPart part;
  std::memcpy(&part, fragment.body.data(), sizeof part);
  const std::span<const std::byte> bytes = fragment.body.subspan(sizeof part);
  Incomplete& whole = find(fragment, by_group, part.total);
  std::memcpy(whole.bytes.data() + part.offset, bytes.data(), bytes.size());
  const auto units = [](std::size_t count) {
    return (count + wire::kFragmentUnit - 1) / wire::kFragmentUnit;
  };
  for (std::size_t i = 0; i < units(bytes.size()); ++i) whole.came.set(part.offset / wire::kFragmentUnit + i);
  if (whole.came.count() != units(whole.bytes.size())) return {};
  whole.used = false;
  if (wire::is_fragment(whole.bytes)) return {};  // no part has parts
  return whole.bytes;
}

}  // namespace herald::rel
