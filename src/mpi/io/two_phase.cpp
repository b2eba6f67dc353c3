// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/io/two_phase.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "type/describe.hpp"

namespace herald::mpi {
namespace {

// Segments that are longer go straight: where a system call is the only cost, and where it is a message.
constexpr std::int64_t kLargeLocal = 4 << 10, kLargeRemote = 1 << 20;
constexpr std::int64_t kAlignment = 4096;
// A domain is cut into at least so many windows, if they stay so long: one is exchanged while another is read
// or written. Memory of one host is not worth it.
constexpr std::int64_t kWindows = 4, kLeastWindow = 1 << 20;
constexpr std::size_t kMostKept = 64 << 20;  // bytes of memory that a file keeps for its next access

std::vector<int> choose_aggregators(const std::vector<CollectiveEntry>& entries) noexcept {
  std::vector<int> chosen;
  const std::size_t most = entries[0].nodes > 0 ? static_cast<std::size_t>(entries[0].nodes) : entries.size();
  for (std::size_t rank = 0; rank < entries.size() && chosen.size() < most; ++rank) {
    const auto on_host = std::count_if(chosen.begin(), chosen.end(), [&](int other) {
      return entries[static_cast<std::size_t>(other)].host == entries[rank].host;
    });
    const auto first = std::find_if(entries.begin(), entries.end(), [&](const CollectiveEntry& entry) {
      return entry.host == entries[rank].host;
    });
    if (on_host < first->quota) chosen.push_back(static_cast<int>(rank));
  }
  if (chosen.empty()) chosen.push_back(0);
  return chosen;
}

// A view as bytes: displacement, then the description of the filetype.
std::vector<char> pack_view(const io::View& view) noexcept {
  const std::vector<std::byte> text = type::describe(*view.filetype());
  const std::int64_t disp = view.disp();
  std::vector<char> out(sizeof disp + text.size());
  std::memcpy(out.data(), &disp, sizeof disp);
  std::memcpy(out.data() + sizeof disp, text.data(), text.size());
  return out;
}

bool unpack_view(const char* data, std::int64_t bytes, io::View& view) noexcept {
  std::int64_t disp = 0;
  if (bytes < static_cast<std::int64_t>(sizeof disp)) return false;
  std::memcpy(&disp, data, sizeof disp);
  type::LayoutRef filetype;
  const auto* text = reinterpret_cast<const std::byte*>(data) + sizeof disp;
  if (type::from_description({text, static_cast<std::size_t>(bytes) - sizeof disp}, filetype) != Status::ok)
    return false;
  view = io::View(disp, type::basic_layout(type::Basic::byte), *filetype);
  return true;
}

std::int64_t sum_of(const std::vector<std::int64_t>& bytes) noexcept {
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

// Of the access before, if it is over.
std::unique_ptr<ExchangeMemory> take_memory(FileState& state) noexcept {
  if (state.exchange_memory) return std::move(state.exchange_memory);
  return std::make_unique<ExchangeMemory>();
}

bool on_one_host(const std::vector<CollectiveEntry>& entries) noexcept {
  return std::all_of(entries.begin(), entries.end(),
                     [&](const CollectiveEntry& entry) { return entry.host == entries[0].host; });
}

std::int64_t window_bytes(const std::vector<CollectiveEntry>& entries, std::int64_t domain_bytes) noexcept {
  const std::int64_t most = entries[0].buffer_bytes;
  if (on_one_host(entries) && entries[0].system == path::FileSystem::memory) return most;
  return std::min(most, std::max(domain_bytes / kWindows, kLeastWindow));
}

}  // namespace

TwoPhase::TwoPhase(Access& access, const std::vector<CollectiveEntry>& entries, FileSteps& steps) noexcept
    : access_(access),
      state_(access.state()),
      steps_(steps),
      memory_(take_memory(state_)),
      windows_{Window(*this, memory_->windows[0]), Window(*this, memory_->windows[1])},
      user_(memory_->user) {
  for (const CollectiveEntry& entry : entries) ranks_.push_back(entry.access);
  std::vector<int> chosen = choose_aggregators(entries);
  if (chosen != state_.aggregators.ranks) state_.aggregators = {std::move(chosen), {}, 0};
  const auto& owners = state_.aggregators.ranks;
  const auto own = std::find(owners.begin(), owners.end(), steps_.comm().rank);
  if (own != owners.end()) domain_ = static_cast<int>(own - owners.begin());
  const std::int64_t alignment = std::max<std::int64_t>(state_.hints.striping_unit, kAlignment);
  const io::Segment hull = io::hull_of(ranks_);
  const auto count = static_cast<std::int64_t>(owners.size());
  domains_.emplace(hull, static_cast<int>(count), alignment, window_bytes(entries, hull.bytes / count));
  if (!access_.writes()) access_.clip(mine().bytes);
  for (Window& window : windows_)
    if (domain_ >= 0) window.aggregator.set_own(steps_.comm().rank, access_.memory());
}

TwoPhase::~TwoPhase() {
  for (Window& window : windows_)
    if (!window.is_done()) state_.thread.wait(window);
  if (memory_->room() <= kMostKept) state_.exchange_memory = std::move(memory_);
}

TwoPhase::Window::Window(TwoPhase& owner, io::WindowMemory& memory) noexcept
    : data(memory.exchanged),
      aggregator(owner.state_.storage, owner.state_.aggregators.views, owner.ranks_, owner.state_.can_read(),
                 memory),
      writes_(owner.access_.writes()) {}

void TwoPhase::Window::run() noexcept {
  error = writes_ ? aggregator.write(data.data()) : aggregator.read(data.data());
}

bool TwoPhase::advance() noexcept {
  for (;;) {
    if (!steps_.is_over()) return false;
    switch (phase_) {
      case Phase::begin: begin(); break;
      case Phase::sizes:
        if (!lost_a_rank()) exchange_views();
        break;
      case Phase::views:
        if (!lost_a_rank()) take_views();
        break;
      case Phase::round: begin_round(); break;
      case Phase::window:
        if (!await(window(round_))) return false;
        exchange();
        break;
      case Phase::exchange:
        (void)lost_a_rank();
        end_round();
        break;
      case Phase::draining:
        if (!await(windows_[0]) || !await(windows_[1])) return false;
        phase_ = Phase::agreeing;
        agreement_.begin(steps_, failure_);
        break;
      case Phase::agreeing:
        if (!agreement_.advance(steps_)) return false;
        result_.failure = agreement_.result();
        if (!result_.failure) result_ = access_.end(mine().bytes);
        phase_ = Phase::over;
        break;
      case Phase::over: return true;
    }
  }
}

bool TwoPhase::lost_a_rank() noexcept {
  if (steps_.error() == MPI_SUCCESS) return false;
  if (!failure_) failure_ = lost_rank(steps_.error());
  phase_ = Phase::draining;
  return true;
}

// Aggregators learn the views of all ranks once for each view.
void TwoPhase::begin() noexcept {
  if (state_.aggregators.view_number == state_.view_number) return begin_rounds();
  own_view_ = pack_view(state_.view);
  own_bytes_ = static_cast<std::int64_t>(own_view_.size());
  came_ = none();
  phase_ = Phase::sizes;
  steps_.allgather(&own_bytes_, came_.data(), sizeof own_bytes_);
}

void TwoPhase::exchange_views() noexcept {
  sent_ = none();
  for (const int owner : state_.aggregators.ranks) {
    sent_[static_cast<std::size_t>(owner)] = own_bytes_;
    sent_views_.insert(sent_views_.end(), own_view_.begin(), own_view_.end());
  }
  if (domain_ < 0) came_ = none();
  views_.resize(static_cast<std::size_t>(sum_of(came_)) + 1);
  phase_ = Phase::views;
  steps_.alltoallv(sent_views_.data(), sent_, views_.data(), came_);
}

void TwoPhase::take_views() noexcept {
  AggregatorSet& set = state_.aggregators;
  set.views.assign(domain_ < 0 ? 0 : came_.size(), io::View());
  const char* at = views_.data();
  for (std::size_t i = 0; i < set.views.size(); at += came_[i++])
    if (!unpack_view(at, came_[i], set.views[i])) failure_ = {MPI_ERR_INTERN, "a view came damaged"};
  set.view_number = state_.view_number;
  begin_rounds();
}

void TwoPhase::begin_rounds() noexcept {
  phase_ = Phase::round;
  if (access_.writes()) return;
  aggregated_ = open(window(0), 0);
  start(window(0));
}

// The bytes of this rank in the windows of other aggregators in a round.
std::vector<std::int64_t> TwoPhase::own_parts() noexcept {
  std::vector<std::int64_t> bytes = none();
  positions_.clear();
  const auto& owners = state_.aggregators.ranks;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    positions_.push_back(
        io::positions_in(state_.view, mine(), domains_->window(static_cast<int>(i), round_)));
    if (static_cast<int>(i) != domain_)
      bytes[static_cast<std::size_t>(owners[i])] = positions_.back().bytes();
  }
  return bytes;
}

// Calls `move` with each part of the user's memory that is exchanged, in the order in which parts lie in the
// exchange buffer.
template <class Move>
void TwoPhase::each_part(Move move) const noexcept {
  if (access_.memory().total() == 0) return;
  for (std::size_t i = 0; i < positions_.size(); ++i) {
    if (static_cast<int>(i) == domain_) continue;
    const io::Positions& part = positions_[i];
    type::Cursor memory = access_.memory();
    memory.narrow(static_cast<std::uint64_t>(part.begin - mine().position),
                  static_cast<std::uint64_t>(part.bytes()));
    move(memory, static_cast<std::size_t>(part.bytes()));
  }
}

void TwoPhase::begin_round() noexcept {
  if (round_ == domains_->rounds()) {
    phase_ = Phase::draining;
    return;
  }
  own_ = own_parts();
  user_.resize(static_cast<std::size_t>(sum_of(own_)) + 1);
  char* at = user_.data();
  if (access_.writes())
    each_part([&](type::Cursor& memory, std::size_t bytes) { at += memory.pack(at, bytes); });
  phase_ = Phase::window;
}

// The window of this round is free, or read. A window is read while the one before it is exchanged.
void TwoPhase::exchange() noexcept {
  Window& now = window(round_);
  phase_ = Phase::exchange;
  if (access_.writes()) {
    aggregated_ = open(now, round_);
    return steps_.alltoallv(user_.data(), own_, now.data.data(), aggregated_);
  }
  sent_.swap(aggregated_);
  if (round_ + 1 < domains_->rounds()) {
    aggregated_ = open(window(round_ + 1), round_ + 1);
    start(window(round_ + 1));
  }
  steps_.alltoallv(now.data.data(), sent_, user_.data(), own_);
}

// After an error nothing more is moved, but the exchanges go on, so that no rank waits for another.
void TwoPhase::end_round() noexcept {
  const char* at = user_.data();
  if (access_.writes())
    start(window(round_));
  else if (!failure_)
    each_part([&](type::Cursor& memory, std::size_t bytes) { at += memory.unpack(at, bytes); });
  ++round_;
  phase_ = Phase::round;
}

// The file's thread moves a window while the exchange, or the program, goes on.
void TwoPhase::start(Window& window) noexcept {
  if (domain_ < 0 || failure_) return;
  const bool is_long = window.aggregator.window_bytes() >= kLeastForThread;
  if (steps_.in_background() ? is_long : domains_->rounds() > 1)
    state_.thread.start(window);
  else
    window.run();
}

// True: no job goes on in the window.
bool TwoPhase::await(Window& window) noexcept {
  if (!window.is_done()) {
    if (steps_.in_background()) return false;
    state_.thread.wait(window);
  }
  if (window.error != 0 && !failure_)
    failure_ = failure_of(window.error, access_.writes() ? "write to" : "read from", state_.name);
  window.error = 0;
  return true;
}

// The bytes of each rank in a window of this aggregator, with memory for them.
std::vector<std::int64_t> TwoPhase::open(Window& window, std::int64_t round) noexcept {
  if (domain_ < 0) return none();
  std::vector<std::int64_t> bytes = window.aggregator.set_window(domains_->window(domain_, round));
  window.data.resize(static_cast<std::size_t>(sum_of(bytes)) + 1);
  return bytes;
}

CollectiveEntry entry_of(Access& access, bool failed) noexcept {
  FileState& state = access.state();
  const io::Hints& hints = state.hints;
  CollectiveEntry entry{};
  entry.failed = failed ? 1 : 0;
  entry.buffer_bytes = hints.cb_buffer_size;
  entry.nodes = static_cast<std::int32_t>(hints.cb_nodes);
  entry.quota = io::aggregators_on(hints.cb_config_list, host_name());
  const Comm& comm = *access.file().comm;
  entry.host = engine::job_hosts_of(runtime().engine()).number(comm.group->peers, comm.rank);
  entry.choice = state.atomic ? io::Choice::disable : access.writes() ? hints.cb_write : hints.cb_read;
  entry.ordered = state.view.ordered() ? 1 : 0;
  entry.system = state.system;
  entry.access.position = access.position();
  if (failed || entry.ordered == 0 || access.bytes() == 0) return entry;
  std::int64_t bytes = access.bytes(), size = 0;
  if (!access.writes()) {
    if (state.storage.size(size) != 0) size = 0;
    bytes = std::clamp<std::int64_t>(state.view.position_at(size) - access.position(), 0, bytes);
  }
  if (bytes == 0) return entry;
  io::Segment first{};
  io::Walker walker(state.view, access.position(), bytes);
  (void)walker.next(first);
  entry.access = {first.offset, state.view.offset_of(access.position() + bytes - 1) + 1, first.bytes,
                  access.position(), bytes};
  return entry;
}

bool wants_two_phases(const std::vector<CollectiveEntry>& entries) noexcept {
  std::vector<io::RankAccess> ranks;
  for (const CollectiveEntry& entry : entries) {
    if (entry.failed != 0 || entry.ordered == 0) return false;
    ranks.push_back(entry.access);
  }
  if (entries[0].choice == io::Choice::disable || io::hull_of(ranks).bytes == 0) return false;
  if (entries[0].choice == io::Choice::enable) return true;
  const bool local = on_one_host(entries) && entries[0].system != path::FileSystem::nfs &&
                     entries[0].system != path::FileSystem::parallel;
  return io::is_interleaved(ranks, local ? kLargeLocal : kLargeRemote);
}

}  // namespace herald::mpi
