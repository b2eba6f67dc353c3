// SPDX-License-Identifier: BSD-3-Clause
#include "sim/job/collective_data.hpp"

#include "sim/job/pattern.hpp"
#include "type/build.hpp"

namespace herald::sim {
namespace {

using coll::Op;

const type::Layout& word() { return type::basic_layout(type::Basic::uint32); }

bool varies(Op op) {
  return op == Op::gatherv || op == Op::scatterv || op == Op::allgatherv || op == Op::alltoallv ||
         op == Op::alltoallw || op == Op::reduce_scatter;
}
bool reduces(Op op) {
  return op == Op::reduce || op == Op::allreduce || op == Op::reduce_scatter_block ||
         op == Op::reduce_scatter || op == Op::scan || op == Op::exscan;
}

}  // namespace

CollectiveData::CollectiveData(const Script& script, std::uint32_t index, std::int32_t place,
                               std::uint64_t seed)
    : spec_(script.collectives[index]),
      lane_(script.lanes[spec_.lane]),
      index_(index),
      place_(place),
      seed_(seed) {
  make_buffers();
}

// Items of the block of a member: all alike, or some of them short and some empty.
std::int64_t CollectiveData::part(std::int32_t place) const noexcept {
  if (!varies(spec_.op)) return spec_.count;
  const bool whole = spec_.groups == coll::Groups::whole;
  const std::int32_t kind = (place + (whole ? 0 : static_cast<std::int32_t>(spec_.number % 3))) % 3;
  return kind == 0 ? spec_.count : (kind == 1 ? 0 : spec_.count / 2);
}

std::int64_t CollectiveData::parts_before(std::int32_t place) const noexcept {
  std::int64_t sum = 0;
  for (std::int32_t i = 0; i < place; ++i) sum += part(i);
  return sum;
}

// Item i of what a member has to send.
std::uint32_t CollectiveData::item(std::int32_t from, std::uint64_t i) const noexcept {
  std::uint64_t x = pattern_seed(seed_, index_ * 4096 + static_cast<std::uint64_t>(from)) + i;
  x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u;
  return static_cast<std::uint32_t>(x >> 32);
}

void CollectiveData::make_buffers() {
  const auto members = static_cast<std::int32_t>(lane_.members.size());
  const bool root = place_ == spec_.root;
  const auto n = static_cast<std::int64_t>(members);
  std::int64_t out = spec_.count, in = spec_.count;
  switch (spec_.op) {
    case Op::barrier: out = in = 0; break;
    case Op::bcast: out = 0; break;
    case Op::gather:
    case Op::gatherv:
      out = part(place_);
      in = root ? parts() : 0;
      break;
    case Op::scatter:
    case Op::scatterv:
      out = root ? parts() : 0;
      in = part(place_);
      break;
    case Op::allgather:
    case Op::allgatherv:
      out = part(place_);
      in = parts();
      break;
    case Op::alltoall: out = in = n * spec_.count; break;
    case Op::alltoallv:
    case Op::alltoallw:
      out = parts();
      in = n * part(place_);
      break;
    case Op::reduce_scatter:
      out = parts();
      in = part(place_);
      break;
    case Op::exscan: in = place_ == 0 ? 0 : spec_.count; break;
    case Op::reduce: in = root ? spec_.count : 0; break;
    case Op::reduce_scatter_block: out = n * spec_.count; break;
    default: break;
  }
  send_.resize(static_cast<std::size_t>(out) + 1);
  recv_.assign(static_cast<std::size_t>(in) + 1, 0xdeadbeef);
  for (std::size_t i = 0; i + 1 < send_.size(); ++i) send_[i] = item(place_, i);
  if (spec_.op == Op::bcast && root)
    for (std::size_t i = 0; i + 1 < recv_.size(); ++i) recv_[i] = item(place_, i);
}

coll::CollSpec CollectiveData::coll_spec() {
  const auto n = static_cast<std::int32_t>(lane_.members.size());
  const bool root = place_ == spec_.root;
  coll::CollSpec ask;
  ask.op = spec_.op;
  ask.rank = place_;
  ask.size = n;
  ask.root = spec_.root;
  ask.groups = spec_.groups;
  ask.bytes = varies(spec_.op) ? 0 : 4 * static_cast<std::uint64_t>(spec_.count);
  if (spec_.op == Op::allgatherv) ask.bytes = 4 * static_cast<std::uint64_t>(parts());
  if (spec_.op == Op::reduce_scatter_block) ask.bytes *= static_cast<std::uint64_t>(n);
  if (spec_.op == Op::reduce_scatter) ask.bytes = 4 * static_cast<std::uint64_t>(parts());
  if (spec_.op == Op::barrier) return ask;
  ask.send = {coll::Buffer::send, &word(), spec_.count};
  ask.recv = {coll::Buffer::recv, &word(), spec_.count};
  const auto spread = [&](coll::Blocks& blocks, std::vector<std::int64_t>& counts,
                          std::vector<std::int64_t>& places, bool same) {
    for (std::int32_t i = 0; i < n; ++i) {
      counts.push_back(same ? part(place_) : part(i));
      places.push_back(same ? i * part(place_) : parts_before(i));
    }
    blocks.counts = counts.data();
    blocks.displacements = places.data();
  };
  switch (spec_.op) {
    case Op::bcast: ask.send = {}; break;
    case Op::gather:
    case Op::reduce:
      if (!root) ask.recv = {};
      break;
    case Op::gatherv:
      ask.send.count = part(place_);
      if (root)
        spread(ask.recv, recv_counts_, recv_places_, false);
      else
        ask.recv = {};
      break;
    case Op::scatter:
      if (!root) ask.send = {};
      break;
    case Op::scatterv:
      ask.recv.count = part(place_);
      if (root)
        spread(ask.send, send_counts_, send_places_, false);
      else
        ask.send = {};
      break;
    case Op::allgatherv:
      ask.send.count = part(place_);
      spread(ask.recv, recv_counts_, recv_places_, false);
      break;
    case Op::alltoallw:
    case Op::alltoallv:
      spread(ask.send, send_counts_, send_places_, false);
      spread(ask.recv, recv_counts_, recv_places_, true);
      if (spec_.op == Op::alltoallw) by_type(ask);
      break;
    case Op::reduce_scatter:
      ask.recv.count = part(place_);
      spread(ask.send, send_counts_, send_places_, false);
      break;
    default: break;
  }
  return ask;
}

// Each block has a type of its own, and lies at a byte.
void CollectiveData::by_type(coll::CollSpec& ask) {
  layouts_.assign(lane_.members.size(), &word());
  for (std::vector<std::int64_t>* places : {&send_places_, &recv_places_})
    for (std::int64_t& at : *places) at *= 4;
  ask.send.layouts = ask.recv.layouts = layouts_.data();
}

// Item i of the result, as the operation is defined.
std::uint32_t CollectiveData::wanted(std::uint64_t i) const noexcept {
  const auto n = static_cast<std::int32_t>(lane_.members.size());
  const auto own = static_cast<std::uint64_t>(place_);
  const auto count = static_cast<std::uint64_t>(spec_.count);
  if (reduces(spec_.op)) {
    std::uint64_t at = i;
    if (spec_.op == Op::reduce_scatter_block) at += own * count;
    if (spec_.op == Op::reduce_scatter) at += static_cast<std::uint64_t>(parts_before(place_));
    const std::int32_t end = spec_.op == Op::scan ? place_ + 1 : spec_.op == Op::exscan ? place_ : n;
    std::uint32_t sum = 0;
    for (std::int32_t from = 0; from < end; ++from) sum += item(from, at);
    return sum;
  }
  std::int32_t from = 0;
  switch (spec_.op) {
    case Op::bcast: return item(spec_.root, i);
    case Op::scatter:
    case Op::scatterv: return item(spec_.root, static_cast<std::uint64_t>(parts_before(place_)) + i);
    case Op::alltoall: return item(static_cast<std::int32_t>(i / count), own * count + i % count);
    case Op::alltoallw:
    case Op::alltoallv: {
      const auto mine = static_cast<std::uint64_t>(part(place_));
      return item(static_cast<std::int32_t>(i / mine),
                  static_cast<std::uint64_t>(parts_before(place_)) + i % mine);
    }
    default:
      while (static_cast<std::uint64_t>(parts_before(from + 1)) <= i) ++from;
      return item(from, i - static_cast<std::uint64_t>(parts_before(from)));
  }
}

std::string CollectiveData::judge() const {
  if (recv_.back() != 0xdeadbeef && spec_.op != Op::bcast) return "wrote beyond its buffer";
  // Sums over many members are dear: of long ones every some are looked at.
  const std::size_t items = recv_.size() - 1;
  const std::size_t step = reduces(spec_.op) ? 1 + items * lane_.members.size() / 100'000 : std::size_t{1};
  for (std::size_t i = 0; i < items; i += step)
    if (recv_[i] != wanted(i))
      return "item " + std::to_string(i) + " of " + std::to_string(items) + " is wrong";
  return {};
}

}  // namespace herald::sim
