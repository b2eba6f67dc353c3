// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/io/two_phase.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "io/aggregator.hpp"
#include "mpi/coll/internal.hpp"
#include "type/describe.hpp"

namespace herald::mpi {
namespace {

// Segments that are longer go straight: where a system call is the only cost, and where it is a message.
constexpr std::int64_t kLargeLocal = 4 << 10, kLargeRemote = 1 << 20;
constexpr std::int64_t kAlignment = 4096;
// A domain is cut into at least so many windows, if they stay so long: one is exchanged while another is read
// or written. Memory of one host is not worth it.
constexpr std::int64_t kWindows = 4, kLeastWindow = 1 << 20;

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

bool on_one_host(const std::vector<CollectiveEntry>& entries) noexcept {
  return std::all_of(entries.begin(), entries.end(),
                     [&](const CollectiveEntry& entry) { return entry.host == entries[0].host; });
}

std::int64_t window_bytes(const std::vector<CollectiveEntry>& entries, std::int64_t domain_bytes) noexcept {
  const std::int64_t most = entries[0].buffer_bytes;
  if (on_one_host(entries) && entries[0].system == path::FileSystem::memory) return most;
  return std::min(most, std::max(domain_bytes / kWindows, kLeastWindow));
}

// A window of an aggregator on its way between file and exchange.
class Window final : public path::FileJob {
 public:
  Window(FileState& state, const std::vector<io::RankAccess>& ranks, bool writes) noexcept
      : aggregator(state.storage, state.aggregators.views, ranks, state.can_read()), writes_(writes) {}
  void run() noexcept override {
    error = writes_ ? aggregator.write(data.data()) : aggregator.read(data.data());
  }

  io::Aggregator aggregator;
  std::vector<char> data;  // as it is exchanged
  int error = 0;

 private:
  const bool writes_;
};

class TwoPhase {
 public:
  TwoPhase(Access& access, const std::vector<CollectiveEntry>& entries) noexcept
      : access_(access), comm_(*access.file().comm), state_(access.state()) {
    for (const CollectiveEntry& entry : entries) ranks_.push_back(entry.access);
    std::vector<int> chosen = choose_aggregators(entries);
    if (chosen != state_.aggregators.ranks) state_.aggregators = {std::move(chosen), {}, 0};
    const auto& owners = state_.aggregators.ranks;
    const auto own = std::find(owners.begin(), owners.end(), comm_.rank);
    if (own != owners.end()) domain_ = static_cast<int>(own - owners.begin());
    const std::int64_t alignment = std::max<std::int64_t>(state_.hints.striping_unit, kAlignment);
    const io::Segment hull = io::hull_of(ranks_);
    const auto count = static_cast<std::int64_t>(owners.size());
    domains_.emplace(hull, static_cast<int>(count), alignment, window_bytes(entries, hull.bytes / count));
  }

  TransferResult run() noexcept {
    Failure failure;
    if (!access_.writes()) access_.clip(mine().bytes);
    if (const int error = exchange_views()) return {0, lost(error)};
    Window first(state_, ranks_, access_.writes()), second(state_, ranks_, access_.writes());
    windows_ = {&first, &second};
    const int error = access_.writes() ? write(failure) : read(failure);
    for (Window* window : windows_) await(*window, failure);
    if (error != MPI_SUCCESS) return {0, lost(error)};
    failure = agree(access_.file(), failure);
    if (failure) return {0, failure};
    return access_.end(mine().bytes);
  }

 private:
  const io::RankAccess& mine() const noexcept { return ranks_[static_cast<std::size_t>(comm_.rank)]; }
  static Failure lost(int error) noexcept {
    return {error, "a rank of the file has ended or cannot be reached"};
  }
  std::vector<std::int64_t> none() const noexcept {
    return std::vector<std::int64_t>(static_cast<std::size_t>(comm_.size));
  }

  // Aggregators learn the views of all ranks once for each view.
  int exchange_views() noexcept {
    AggregatorSet& set = state_.aggregators;
    if (set.view_number == state_.view_number) return MPI_SUCCESS;
    const std::vector<char> own = pack_view(state_.view);
    const auto bytes = static_cast<std::int64_t>(own.size());
    std::vector<std::int64_t> all = none(), sent = none();
    if (const int error = allgather_bytes(comm_, &bytes, all.data(), sizeof bytes)) return error;
    std::vector<char> copies;
    for (const int owner : set.ranks) {
      sent[static_cast<std::size_t>(owner)] = bytes;
      copies.insert(copies.end(), own.begin(), own.end());
    }
    if (domain_ < 0) all = none();
    std::int64_t total = 0;
    for (const std::int64_t one : all) total += one;
    std::vector<char> came(static_cast<std::size_t>(total) + 1);
    if (const int error = alltoallv_bytes(comm_, copies.data(), sent, came.data(), all)) return error;
    set.views.assign(domain_ < 0 ? 0 : all.size(), io::View());
    const char* at = came.data();
    for (std::size_t i = 0; i < set.views.size(); at += all[i++])
      if (!unpack_view(at, all[i], set.views[i])) return MPI_ERR_INTERN;
    set.view_number = state_.view_number;
    return MPI_SUCCESS;
  }

  // The bytes of this rank in the windows of a round, by aggregator.
  std::vector<std::int64_t> parts_of(std::int64_t round,
                                     std::vector<io::Positions>& positions) const noexcept {
    std::vector<std::int64_t> bytes = none();
    const auto& owners = state_.aggregators.ranks;
    for (std::size_t i = 0; i < owners.size(); ++i) {
      positions.push_back(
          io::positions_in(state_.view, mine(), domains_->window(static_cast<int>(i), round)));
      bytes[static_cast<std::size_t>(owners[i])] = positions.back().bytes();
    }
    return bytes;
  }

  static std::int64_t sum_of(const std::vector<std::int64_t>& bytes) noexcept {
    std::int64_t sum = 0;
    for (const std::int64_t one : bytes) sum += one;
    return sum;
  }

  // Calls `move` with each part of the user's memory, in the order in which parts lie in the exchange buffer.
  template <class Move>
  void each_part(const std::vector<io::Positions>& positions, Move move) const noexcept {
    for (const io::Positions& part : positions) {
      type::Cursor memory = access_.memory();
      memory.narrow(static_cast<std::uint64_t>(part.begin - mine().position),
                    static_cast<std::uint64_t>(part.bytes()));
      move(memory, part.bytes());
    }
  }

  // The file's thread moves a window while the exchange goes on, if there is more than one.
  void start(Window& window) noexcept {
    if (domains_->rounds() > 1)
      state_.thread.start(window);
    else
      window.run();
  }
  void await(Window& window, Failure& failure) noexcept {
    if (!window.is_done()) state_.thread.wait(window);
    if (window.error != 0 && !failure)
      failure = failure_of(window.error, access_.writes() ? "write to" : "read from", state_.name);
    window.error = 0;
  }
  Window& window(std::int64_t round) noexcept { return *windows_[static_cast<std::size_t>(round % 2)]; }
  // The bytes of each rank in a window of this aggregator, with memory for them.
  std::vector<std::int64_t> open(Window& window, std::int64_t round) noexcept {
    if (domain_ < 0) return none();
    std::vector<std::int64_t> bytes = window.aggregator.set_window(domains_->window(domain_, round));
    window.data.resize(static_cast<std::size_t>(sum_of(bytes)) + 1);
    return bytes;
  }

  // After an error the exchanges go on, so that no rank waits; nothing more is written.
  int write(Failure& failure) noexcept {
    for (std::int64_t round = 0; round < domains_->rounds(); ++round) {
      std::vector<io::Positions> positions;
      const std::vector<std::int64_t> sent = parts_of(round, positions);
      user_.resize(static_cast<std::size_t>(sum_of(sent)) + 1);
      char* at = user_.data();
      if (access_.memory().total() != 0)
        each_part(positions, [&](type::Cursor& memory, std::int64_t bytes) {
          at += memory.pack(at, static_cast<std::size_t>(bytes));
        });
      Window& next = window(round);
      await(next, failure);
      const std::vector<std::int64_t> came = open(next, round);
      if (const int error = alltoallv_bytes(comm_, user_.data(), sent, next.data.data(), came)) return error;
      if (domain_ >= 0 && !failure) start(next);
    }
    return MPI_SUCCESS;
  }

  // A window is read while the one before it is exchanged.
  int read(Failure& failure) noexcept {
    std::vector<std::int64_t> sent = open(window(0), 0), later = none();
    if (domain_ >= 0) start(window(0));
    for (std::int64_t round = 0; round < domains_->rounds(); ++round, sent.swap(later)) {
      std::vector<io::Positions> positions;
      const std::vector<std::int64_t> came = parts_of(round, positions);
      user_.resize(static_cast<std::size_t>(sum_of(came)) + 1);
      await(window(round), failure);
      if (round + 1 < domains_->rounds()) {
        later = open(window(round + 1), round + 1);
        if (domain_ >= 0 && !failure) start(window(round + 1));
      }
      const char* const data = window(round).data.data();
      if (const int error = alltoallv_bytes(comm_, data, sent, user_.data(), came)) return error;
      const char* at = user_.data();
      if (access_.memory().total() != 0)
        each_part(positions, [&](type::Cursor& memory, std::int64_t bytes) {
          at += memory.unpack(at, static_cast<std::size_t>(bytes));
        });
    }
    return MPI_SUCCESS;
  }

  Access& access_;
  Comm& comm_;
  FileState& state_;
  std::vector<io::RankAccess> ranks_;
  std::optional<io::Domains> domains_;
  int domain_ = -1;  // of this rank; -1: it is no aggregator
  std::array<Window*, 2> windows_{};
  std::vector<char> user_;  // the part of this rank, as it is exchanged
};

}  // namespace

CollectiveEntry entry_of(Access& access, bool failed) noexcept {
  FileState& state = access.state();
  const io::Hints& hints = state.hints;
  CollectiveEntry entry{};
  entry.failed = failed ? 1 : 0;
  entry.buffer_bytes = hints.cb_buffer_size;
  entry.nodes = static_cast<std::int32_t>(hints.cb_nodes);
  entry.quota = io::aggregators_on(hints.cb_config_list, host_name());
  const Comm& comm = *access.file().comm;
  entry.host = runtime().engine().peers().host_number(comm.group->peers[static_cast<std::size_t>(comm.rank)]);
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

TransferResult run_two_phase(Access& access, const std::vector<CollectiveEntry>& entries) noexcept {
  return TwoPhase(access, entries).run();
}

}  // namespace herald::mpi
