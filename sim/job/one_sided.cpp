// SPDX-License-Identifier: BSD-3-Clause
#include "sim/job/one_sided.hpp"

#include <algorithm>
#include <numeric>

#include "sim/job/pattern.hpp"
#include "sim/net/chance.hpp"

namespace herald::sim {
namespace {

constexpr std::uint64_t kWindow = 1'000'077;

Prng chance_of(std::uint64_t seed, std::uint32_t index) {
  return Prng(pattern_seed(seed, 5'000'000 + index));
}

std::vector<p2p::PeerId> all_peers(std::size_t processes) {
  std::vector<p2p::PeerId> peers(processes);
  std::iota(peers.begin(), peers.end(), 0);
  return peers;
}

}  // namespace

std::vector<std::uint64_t> counters_of(const EpochSpec& spec, std::uint64_t seed, std::uint32_t index) {
  Prng chance = chance_of(seed, index);
  std::vector<std::uint64_t> counters;
  for (std::uint32_t i = 0; i < spec.operations; ++i)
    counters.push_back(chance.below(WindowLayout::kCounters));
  return counters;
}

void add_epochs(Script& script, bool exclusive, Prng& chance) {
  const auto processes = script.steps.size();
  for (std::size_t from = 0; from < processes; ++from)
    for (std::uint64_t n = 1 + chance.below(processes < 16 ? 12 : 3); n != 0; --n) {
      auto to = static_cast<std::int32_t>(chance.below(processes - 1));
      if (to >= static_cast<std::int32_t>(from)) ++to;
      const auto kind = static_cast<EpochSpec::Kind>(chance.below(exclusive ? 3 : 2));
      const auto operations = static_cast<std::uint32_t>(between(chance, 1, 8));
      const auto index = static_cast<std::uint32_t>(script.epochs.size());
      script.epochs.push_back({static_cast<std::int32_t>(from), to, kind, operations});
      std::vector<Step>& steps = script.steps[from];
      steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(chance.below(steps.size() + 1)),
                   {Do::epoch, index, {}});
    }
}

void add_active_epochs(Script& script, Prng& chance) {
  if (script.steps.size() > ActiveTarget::kMostProcesses) return;
  for (std::uint64_t n = 2 + chance.below(6); n != 0; --n)
    script.active.push_back(chance.below(3) != 0 ? ActiveKind::fence : ActiveKind::post_start);
  for (std::vector<Step>& steps : script.steps)
    steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(chance.below(steps.size() + 1)),
                 {Do::activate, 0, {}});
}

OneSided::OneSided(const Script& script, HostId me, std::uint64_t seed, p2p::Core& core)
    : script_(script),
      seed_(seed),
      core_(core),
      layout_(script.steps.size()),
      memory_(script.epochs.empty() ? 0 : layout_.words()),
      endpoint_(core.services(), [] {}),
      window_(core.services(), kWindow, all_peers(script.steps.size()), me),
      active_(script, me, seed, core, endpoint_),
      epochs_(script.steps.size()),
      written_(script.steps.size()) {
  endpoint_.add(window_);
  window_.target.memory().set(memory_.data(), memory_.size() * sizeof memory_[0]);
}

void OneSided::start(std::uint32_t index) {
  ++pending_;
  std::deque<Epoch>& row = epochs_[static_cast<std::size_t>(script_.epochs[index].to)];
  row.emplace_back().index = index;
  if (row.size() == 1) begin(row.front());
}

void OneSided::operate(const EpochSpec& spec, wire::RmaKind kind, op::Kind op, Words* data, Words* result,
                       std::uint64_t at, std::uint64_t words) {
  rma::Operation operation;
  operation.kind = kind;
  operation.op = op;
  operation.basic = type::Basic::int64;
  const auto bytes = static_cast<std::size_t>(words) * sizeof(std::int64_t);
  if (data != nullptr) operation.data = type::Cursor::bytes(data->data(), bytes);
  if (result != nullptr) operation.result = type::Cursor::bytes(result->data(), bytes);
  window_.origin.start({spec.to, at * sizeof(std::int64_t), &type::basic_layout(type::Basic::int64),
                        static_cast<std::int64_t>(words)},
                       std::move(operation));
}

void OneSided::count(Epoch& epoch, Prng& chance) {
  const EpochSpec& spec = spec_of(epoch);
  for (const std::uint64_t counter : counters_of(spec, seed_, epoch.index)) {
    Words& one = epoch.buffers.emplace_back(1, 1);
    Words* before = nullptr;
    if (chance.below(3) != 0) {
      before = &epoch.buffers.emplace_back(1, -1);
      epoch.fetches.push_back({counter, epoch.buffers.size() - 1});
    }
    operate(spec, before != nullptr ? wire::RmaKind::get_accumulate : wire::RmaKind::accumulate,
            op::Kind::sum, &one, before, counter, 1);
  }
}

// Puts and replacing accumulates take effect in order, and the get sees all of them.
void OneSided::write(Epoch& epoch, Prng& chance) {
  const EpochSpec& spec = spec_of(epoch);
  const std::uint64_t first = layout_.range_of(spec.from);
  Words& written = written_[static_cast<std::size_t>(spec.to)];
  written.resize(layout_.range);
  Prng flushes(pattern_seed(seed_, 6'500'000 + epoch.index));
  for (std::uint32_t i = 0; i < spec.operations; ++i) {
    if (flushes.below(4) == 0) window_.origin.flush(spec.to, true);
    const std::uint64_t words = 1 + chance.below(chance.below(3) == 0 ? layout_.range : 32);
    const std::uint64_t at = chance.below(layout_.range - words + 1);
    Words& data = epoch.buffers.emplace_back(words);
    for (std::int64_t& word : data) word = static_cast<std::int64_t>(chance.next() >> 1);
    std::copy(data.begin(), data.end(), written.begin() + static_cast<std::ptrdiff_t>(at));
    const bool puts = chance.below(2) == 0;
    operate(spec, puts ? wire::RmaKind::put : wire::RmaKind::accumulate, op::Kind::replace, &data, nullptr,
            first + at, words);
  }
  epoch.back.resize(layout_.range);
  operate(spec, wire::RmaKind::get, op::Kind::replace, nullptr, &epoch.back, first, layout_.range);
}

void OneSided::begin(Epoch& epoch) {
  const EpochSpec& spec = spec_of(epoch);
  Prng chance(pattern_seed(seed_, 6'000'000 + epoch.index));
  window_.origin.lock(spec.to, spec.kind == EpochSpec::update);
  switch (spec.kind) {
    case EpochSpec::count: count(epoch, chance); break;
    case EpochSpec::write: write(epoch, chance); return;  // unlocked when the long reply has come
    case EpochSpec::update:
      epoch.back.resize(1);
      return operate(spec, wire::RmaKind::get, op::Kind::replace, nullptr, &epoch.back,
                     WindowLayout::kUpdated, 1);
  }
  window_.origin.unlock(spec.to);
  epoch.unlocked = true;
}

bool OneSided::advance(Epoch& epoch) {
  const EpochSpec& spec = spec_of(epoch);
  if (core_.is_gone(spec.to)) {
    window_.origin.abandon(spec.to);
    if (!window_.origin.is_locally_complete(spec.to)) return false;  // payloads end by themselves
    ++lost_;
    return true;
  }
  if (!window_.origin.is_locally_complete(spec.to)) return false;
  if (!epoch.unlocked) {
    if (spec.kind == EpochSpec::update) {
      Words& next = epoch.buffers.emplace_back(1, epoch.back[0] + 1);
      operate(spec, wire::RmaKind::put, op::Kind::replace, &next, nullptr, WindowLayout::kUpdated, 1);
    }
    window_.origin.unlock(spec.to);
    epoch.unlocked = true;
  }
  if (!window_.origin.is_flushed(spec.to) || !window_.origin.is_locally_complete(spec.to)) return false;
  end(epoch);
  return true;
}

void OneSided::end(Epoch& epoch) {
  const EpochSpec& spec = spec_of(epoch);
  for (const auto& [counter, buffer] : epoch.fetches)
    fetched_.push_back({spec.to, counter, epoch.buffers[buffer][0]});
  if (spec.kind == EpochSpec::write && epoch.back != written_[static_cast<std::size_t>(spec.to)])
    wrong_.push_back("epoch " + std::to_string(epoch.index) + " of " + std::to_string(spec.from) + " on " +
                     std::to_string(spec.to) + " read something else than it wrote");
}

bool OneSided::advance() {
  bool moved = active_.advance();
  for (std::deque<Epoch>& row : epochs_)
    while (!row.empty() && advance(row.front())) {
      row.pop_front();
      --pending_;
      moved = true;
      if (!row.empty()) begin(row.front());
    }
  return moved;
}

std::string OneSided::state() const {
  std::string text = active_.state();
  for (std::size_t to = 0; to < epochs_.size(); ++to)
    if (!epochs_[to].empty())
      text += "  " + std::to_string(epochs_[to].size()) + " epochs on " + std::to_string(to) + ": " +
              (window_.origin.is_granted(static_cast<int>(to)) ? "granted" : "not granted") + "\n";
  return text;
}

}  // namespace herald::sim
