// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll_agree.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "mpi/coll.hpp"
#include "mpi/runtime.hpp"

namespace herald::mpi {
namespace {

const std::uint64_t probe_word = path::Board::kProbe;

int ranks_here() noexcept {
  const engine::Engine& engine = runtime().engine();
  int count = 0;
  for (p2p::PeerId peer = 0; peer < engine.size(); ++peer)
    if (engine.host_number(peer) == engine.host_number(engine.rank())) ++count;
  return count;
}

}  // namespace

Agreement::Agreement(Comm& comm, CommColl& state) noexcept : comm_(comm), state_(state) { retain(&comm_); }

Agreement::~Agreement() {
  if (round_ != nullptr && round_->is_done()) Execution::recycle(round_);
}

void Agreement::begin() noexcept {
  runtime().engine().add_hook(turn, this);
  offer();
  (void)advance();
}

bool Agreement::turn(void* self) noexcept { return static_cast<Agreement*>(self)->advance(); }

// True if it went on; this object may then be gone.
bool Agreement::advance() noexcept {
  bool moved = false;
  while (round_ == nullptr || round_->is_done()) {
    moved = true;
    const bool good = round_ != nullptr && round_->error() == MPI_SUCCESS;
    if (round_ != nullptr) Execution::recycle(std::exchange(round_, nullptr));
    switch (stage_) {
      case Stage::offered: ask_all(Stage::attached, good && attach()); break;
      case Stage::attached:
        state_.board.unlink();
        if (!good || !all_said_yes()) {
          settle(false);
          return true;
        }
        ask_all(Stage::probed, probe());
        break;
      case Stage::probed:
        state_.reads_peers = good && all_said_yes();
        settle(true);
        return true;
    }
  }
  return moved;
}

// The first rank of a host makes its board. Where there is one host only, it also says how large it is:
// communicators that are many get small ones, and in the end none.
void Agreement::offer() noexcept {
  const int host = state_.cluster->host_of(comm_.rank);
  const std::vector<int>& ranks = state_.cluster->on_host(host);
  const Knobs& knobs = runtime().knobs();
  offer_.board_bytes = static_cast<std::uint64_t>(knobs.coll_board_bytes);
  offer_.stream_bytes = static_cast<std::uint64_t>(knobs.coll_stream_bytes);
  if (state_.cluster->place_of(comm_.rank) == 0 && ranks.size() > 1) {
    // As many others may lead communicators like this one.
    const auto alike = static_cast<std::uint64_t>(
        std::max<std::size_t>(1, static_cast<std::size_t>(ranks_here()) / ranks.size()));
    const BoardBudget left = board_budget(alike);
    if (state_.cluster->hosts() == 1) {
      offer_.board_bytes = std::min(offer_.board_bytes, left.board_bytes);
      offer_.stream_bytes = std::min(offer_.stream_bytes, left.stream_bytes);
    }
    const path::BoardShape shape = state_.board_shape(host, offer_.board_bytes, offer_.stream_bytes);
    if (::getrandom(&offer_.nonce, sizeof offer_.nonce, 0) != sizeof offer_.nonce)
      offer_.nonce = static_cast<std::uint64_t>(::getpid());
    const std::string path = runtime().engine().new_shm_path();
    if (shape.place_bytes != 0 && shape.bytes() <= left.all_bytes && !path.empty() &&
        path.size() < sizeof offer_.path && state_.board.create(path, shape, offer_.nonce)) {
      std::memcpy(offer_.path, path.c_str(), path.size() + 1);
      state_.charge(shape, alike);
    }
  }
  round_ = agree_on_host(comm_, static_cast<int>(Stage::offered), ranks, state_.cluster->place_of(comm_.rank),
                         &offer_, sizeof offer_);
  if (round_ != nullptr) round_->launch();
}

bool Agreement::attach() noexcept {
  const int host = state_.cluster->host_of(comm_.rank), place = state_.cluster->place_of(comm_.rank);
  const std::vector<int>& ranks = state_.cluster->on_host(host);
  for (const int rank : ranks) state_.peers.push_back(comm_.peer(rank));
  state_.most_bytes = offer_.board_bytes;
  state_.stream_bytes = offer_.stream_bytes;
  if (ranks.size() == 1) return true;
  offer_.path[sizeof offer_.path - 1] = '\0';
  const path::BoardShape shape = state_.board_shape(host, offer_.board_bytes, offer_.stream_bytes);
  if (offer_.path[0] == '\0' || shape.place_bytes == 0) return false;
  if (place != 0 && !state_.board.attach(offer_.path, shape, offer_.nonce)) return false;
  path::allow_reading();
  state_.board.owner(place) = {.pid = ::getpid(),
                               .spins = runtime().engine().may_spin() ? 1 : 0,
                               .probe = reinterpret_cast<std::uintptr_t>(&probe_word)};
  return true;
}

// Whether we can read the memory of the next one on this host.
bool Agreement::probe() noexcept {
  const std::vector<p2p::PeerId>& peers = state_.peers;
  if (peers.size() == 1) return true;
  const auto me = std::find(peers.begin(), peers.end(), runtime().engine().rank()) - peers.begin();
  const path::Board::Owner& next = state_.board.owner(static_cast<int>((me + 1) % std::ssize(peers)));
  std::uint64_t word = 0;
  const path::MemoryRun run{&word, sizeof word};
  return path::read_memory(next.pid, next.probe, {&run, 1}) && word == path::Board::kProbe;
}

void Agreement::ask_all(Stage stage, bool mine) noexcept {
  stage_ = stage;
  answer_ = mine ? 1 : 0;
  answers_.assign(static_cast<std::size_t>(comm_.size), 0);
  round_ = agree_bytes(comm_, static_cast<int>(stage), &answer_, answers_.data(), 1);
  if (round_ != nullptr) round_->launch();
}

bool Agreement::all_said_yes() const noexcept {
  return std::find(answers_.begin(), answers_.end(), 0) == answers_.end();
}

void Agreement::settle(bool agreed) noexcept {
  runtime().engine().remove_hook(turn, this);
  const std::unique_ptr<Agreement> self = std::move(state_.agreement);
  Comm* comm = &comm_;
  state_.settle(*comm, agreed);
  for (Held* call : held_) call->go_on();
  runtime().engine().wake_waiters();
  release(comm);  // maybe the last count, and with it the state
}

}  // namespace herald::mpi
