// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll_agree.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "mpi/coll.hpp"
#include "mpi/runtime.hpp"
#include "path/random.hpp"

namespace herald::mpi {
namespace {

const std::uint64_t probe_word = path::CollSegment::kProbe;

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
        state_.segment.unlink();
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

// The first rank of a host makes its collective segment. Where there is one host only, it also says how large
// it is: communicators that are many get small ones, and in the end none.
void Agreement::offer() noexcept {
  const int host = state_.cluster->host_of(comm_.rank);
  const std::vector<int>& ranks = state_.cluster->on_host(host);
  const Knobs& knobs = runtime().knobs();
  // Streams get the last bytes of a communicator's share, so that a small share still has posts and channels.
  const auto most = static_cast<std::uint64_t>(knobs.coll_segment_bytes);
  const std::uint64_t usual =
      static_cast<std::uint64_t>(Knobs{}.coll_segment_bytes) - knobs.tuning.coll_stream_bytes;
  ad_.stream_bytes = std::min(most - std::min(most, usual), knobs.tuning.coll_stream_bytes);
  ad_.segment_bytes = most - ad_.stream_bytes;
  if (state_.cluster->place_of(comm_.rank) == 0 && ranks.size() > 1) {
    // As many others may lead communicators like this one.
    const auto alike = static_cast<std::uint64_t>(
        std::max<std::size_t>(1, static_cast<std::size_t>(ranks_here()) / ranks.size()));
    const SegmentBudget left = segment_budget(alike);
    if (state_.cluster->hosts() == 1) {
      ad_.segment_bytes = std::min(ad_.segment_bytes, left.segment_bytes);
      ad_.stream_bytes = std::min(ad_.stream_bytes, left.stream_bytes);
    }
    const path::CollSegmentShape shape = state_.segment_shape(host, ad_.segment_bytes, ad_.stream_bytes);
    ad_.nonce = path::random_number();
    const std::string path = runtime().engine().new_shm_path();
    if (shape.place_bytes != 0 && shape.bytes() <= left.all_bytes && !path.empty() &&
        path.size() < sizeof ad_.path && state_.segment.create(path, shape, ad_.nonce)) {
      std::memcpy(ad_.path, path.c_str(), path.size() + 1);
      state_.charge(shape, alike);
    }
  }
  round_ = agree_on_host(comm_, static_cast<int>(Stage::offered), ranks, state_.cluster->place_of(comm_.rank),
                         &ad_, sizeof ad_);
  if (round_ != nullptr) round_->launch();
}

bool Agreement::attach() noexcept {
  const int host = state_.cluster->host_of(comm_.rank), place = state_.cluster->place_of(comm_.rank);
  const std::vector<int>& ranks = state_.cluster->on_host(host);
  for (const int rank : ranks) state_.peers.push_back(comm_.peer(rank));
  state_.most_bytes = ad_.segment_bytes;
  state_.stream_bytes = ad_.stream_bytes;
  if (ranks.size() == 1) return true;
  ad_.path[sizeof ad_.path - 1] = '\0';
  const path::CollSegmentShape shape = state_.segment_shape(host, ad_.segment_bytes, ad_.stream_bytes);
  if (ad_.path[0] == '\0' || shape.place_bytes == 0) return false;
  if (place != 0 && !state_.segment.attach(ad_.path, shape, ad_.nonce)) return false;
  state_.cma = path::Cma::open(runtime().knobs().cma != "off");
  state_.segment.owner(place) = {.pid = ::getpid(),
                                 .spins = runtime().engine().may_spin() ? 1 : 0,
                                 .probe = reinterpret_cast<std::uintptr_t>(&probe_word)};
  return true;
}

// Whether we can read the memory of the next one on this host.
bool Agreement::probe() noexcept {
  const std::vector<p2p::PeerId>& peers = state_.peers;
  if (peers.size() == 1) return true;
  if (!state_.cma) return false;
  const auto me = std::find(peers.begin(), peers.end(), runtime().engine().rank()) - peers.begin();
  const path::CollSegment::Owner& next = state_.segment.owner(static_cast<int>((me + 1) % std::ssize(peers)));
  return state_.cma->probe(next.pid, next.probe, path::CollSegment::kProbe);
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
  for (DeferredColl* call : held_) call->go_on();
  runtime().engine().wake_waiters();
  release(comm);  // maybe the last count, and with it the state
}

}  // namespace herald::mpi
