// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll_shared.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "mpi/coll.hpp"
#include "mpi/request.hpp"
#include "mpi/runtime.hpp"

namespace herald::mpi {
namespace {

// How the ranks agree on a board.
struct Offer {
  std::uint64_t nonce = 0;
  std::uint64_t most_bytes = 0;
  std::uint64_t stream_bytes = 0;
  char path[224] = {};  // empty: no board
};
enum : int { kOfferRound, kAttachedRound, kProbedRound };

// Boards with streams that this process has made and that are still there: so many may be.
constexpr int kMostStreams = 8;
int streams_made = 0;

const std::uint64_t probe_word = path::Board::kProbe;

bool all_local(const Comm& comm) noexcept {
  for (int i = 0; i < comm.size; ++i)
    if (!runtime().engine().is_local(comm.peer(i))) return false;
  return true;
}

bool all_say_yes(Comm& comm, int round, bool mine) noexcept {
  const char answer = mine ? 1 : 0;
  std::vector<char> answers(static_cast<std::size_t>(comm.size));
  if (agree_bytes(comm, round, coll::Op::allgather, &answer, answers.data(), 1) != MPI_SUCCESS) return false;
  return std::find(answers.begin(), answers.end(), 0) == answers.end();
}

Offer make_offer(Comm& comm, path::Board& board) noexcept {
  Offer offer;
  offer.most_bytes = static_cast<std::uint64_t>(runtime().knobs().coll_board_bytes);
  if (::getrandom(&offer.nonce, sizeof offer.nonce, 0) != sizeof offer.nonce)
    offer.nonce = static_cast<std::uint64_t>(::getpid());
  if (streams_made < kMostStreams)
    offer.stream_bytes = static_cast<std::uint64_t>(runtime().knobs().coll_stream_bytes);
  const path::BoardShape shape = path::BoardShape::make(comm.size, offer.most_bytes, offer.stream_bytes);
  const std::string path = runtime().engine().new_shm_path();
  if (shape.place_bytes == 0 || path.empty() || path.size() >= sizeof offer.path || !all_local(comm) ||
      !board.create(path, shape, offer.nonce))
    return offer;
  std::memcpy(offer.path, path.c_str(), path.size() + 1);
  return offer;
}

}  // namespace

std::uint32_t CommColl::shared_bytes(bool persistent) const noexcept {
  if (channels.empty() || (persistent && persistent_count >= path::BoardShape::kMoreChannels)) return 0;
  return board.shape().channel(persistent ? 1 : 0).inline_bytes();
}

CommColl::~CommColl() {
  if (made_streams) --streams_made;
  if (lane >= 0 && runtime().has_engine()) runtime().engine().close_lane(lane);
}

// Members on one host share its memory and not a lane: then there is none.
void CommColl::consider_lane(Comm& comm) noexcept {
  if (hosts != 0) return;
  engine::Engine& engine = runtime().engine();
  std::vector<int> numbers;
  for (int rank = 0; rank < comm.size; ++rank) numbers.push_back(engine.host_number(comm.peer(rank)));
  std::sort(numbers.begin(), numbers.end());
  hosts = static_cast<int>(std::unique(numbers.begin(), numbers.end()) - numbers.begin());
  if (hosts == comm.size && hosts > 2) lane = engine.open_lane(comm.context, comm.group->peers);
}

coll::Shape CommColl::shape_for(Comm& comm, const coll::Ask& ask) noexcept {
  consider_lane(comm);
  coll::Shape shape = coll::shape_of(comm.size, hosts, ask.commutes);
  shape.lane = lane >= 0;
  shape.shared_bytes = ask.shared_bytes;
  shape.reads_peers = reads_peers;
  shape.streams = ask.streams;
  return shape;
}

void CommColl::open(Comm& comm) noexcept {
  tried = true;
  if (!meet(comm)) {
    board.close();
    return;
  }
  for (int i = 0; i < comm.size; ++i) pids.push_back(board.owner(i).pid);
  for (std::uint32_t i = 0; i < path::BoardShape::kChannels; ++i) {
    channels.emplace_back(board.channel(i, comm.rank), comm);
    channels.back().pids_ = &pids;
  }
  streams = board.shape().chunks != 0;
  if (streams && comm.rank == 0) {
    made_streams = true;
    ++streams_made;
  }
  if (streams) channels.front().streams_ = board.streams(comm.rank);
}

// Every rank goes through every round, or none does: what one of them finds wrong, all are told.
bool CommColl::meet(Comm& comm) noexcept {
  Offer offer;
  if (comm.rank == 0) offer = make_offer(comm, board);
  if (agree_bytes(comm, kOfferRound, coll::Op::bcast, nullptr, &offer, sizeof offer) != MPI_SUCCESS)
    return false;
  if (offer.path[0] == '\0') return false;
  offer.path[sizeof offer.path - 1] = '\0';
  const path::BoardShape shape = path::BoardShape::make(comm.size, offer.most_bytes, offer.stream_bytes);
  bool good = comm.rank == 0 || board.attach(offer.path, shape, offer.nonce);
  if (good) {
    path::allow_reading();
    board.owner(comm.rank) = {.pid = ::getpid(), .probe = reinterpret_cast<std::uintptr_t>(&probe_word)};
  }
  good = all_say_yes(comm, kAttachedRound, good);
  board.unlink();
  if (!good) return false;
  const path::Board::Owner& next = board.owner((comm.rank + 1) % comm.size);
  std::uint64_t word = 0;
  const path::MemoryRun run{&word, sizeof word};
  const bool read = path::read_memory(next.pid, next.probe, {&run, 1}) && word == path::Board::kProbe;
  reads_peers = all_say_yes(comm, kProbedRound, read);
  return true;
}

// Marks a post whose data comes as a stream, from this position on. No address has it.
constexpr std::uint64_t kStreamBit = std::uint64_t{1} << 63;
constexpr std::uint64_t kChunk = path::StreamShape::kChunkBytes;

static_assert(path::Channel::kRingNone == coll::kNobody && path::Channel::kRingAll == coll::kEverybody);

void SharedChannel::begin(std::uint64_t number) noexcept {
  running_.push_back(number);
  wake(channel_.set_low(running_.front()));
}

void SharedChannel::end(std::uint64_t number) noexcept {
  running_.erase(std::find(running_.begin(), running_.end(), number));
  if (pouring_ == number) [[unlikely]]
    pouring_ = kNoNumber;
  wake(channel_.set_low(running_.empty() ? number + 1 : running_.front()));
}

void SharedChannel::wake(int whom) noexcept {
  if (whom == coll::kNobody) return;
  wanted_ = wanted_ == coll::kNobody || wanted_ == whom ? whom : coll::kEverybody;
}

void SharedChannel::ring() noexcept {
  const int whom = std::exchange(wanted_, coll::kNobody);
  path::Channel::before_ring();
  engine::Engine& engine = runtime().engine();
  if (whom >= 0) {
    if (whom != comm_->rank) engine.ring(comm_->peer(whom));
    return;
  }
  for (int i = 0; i < comm_->size; ++i)
    if (i != comm_->rank) engine.ring(comm_->peer(i));
}

bool SharedChannel::is_free(std::uint64_t number) noexcept {
  if (channel_.is_free(number)) return true;
  channel_.starve(number);
  return channel_.is_free(number);
}

bool SharedChannel::attempt(std::uint64_t number, const coll::Step& step, const coll::Places& places,
                            std::uint64_t& streamed, int& error) noexcept {
  switch (step.kind) {
    case coll::StepKind::post: return post(number, step, places);
    case coll::StepKind::fetch:
    case coll::StepKind::draw: return fetch(number, step, places, streamed, error);
    case coll::StepKind::pour: return pour(number, step, places, streamed);
    case coll::StepKind::meet: return channel_.met(number, step.tag);
    case coll::StepKind::arrive:
      if (!is_free(number)) return false;
      if (channel_.arrive(number, step.tag)) wake(step.partner);
      return true;
    case coll::StepKind::send:
    case coll::StepKind::recv:
    case coll::StepKind::cast:
    case coll::StepKind::copy:
    case coll::StepKind::reduce:
    case coll::StepKind::check: break;
  }
  return true;
}

bool SharedChannel::post(std::uint64_t number, const coll::Step& step, const coll::Places& places) noexcept {
  if (!is_free(number)) return false;
  std::uint64_t address = 0;
  if (step.copied && step.a.bytes != 0) {
    cursor(step.a, places).pack(channel_.room(number), channel_.shape().inline_bytes());
  } else if (!step.copied) {
    address = reinterpret_cast<std::uintptr_t>(places.of(step.a));
  }
  channel_.post(number, step.tag, address, step.a.bytes);
  wake(step.partner);
  return true;
}

// The rank that is ahead does not know how much others expect: a post says itself whether it is a stream.
bool SharedChannel::pour(std::uint64_t number, const coll::Step& step, const coll::Places& places,
                         std::uint64_t& streamed) noexcept {
  if (pouring_ != number) {
    if (pouring_ != kNoNumber || !is_free(number)) return false;
    pouring_ = number;
    channel_.post(number, step.tag, kStreamBit | stream_next_, step.a.bytes);
    wake(step.partner);
  }
  while (streamed != step.a.bytes) {
    if (!streams_.is_free(stream_next_)) return false;
    const std::uint64_t bytes = std::min<std::uint64_t>(step.a.bytes - streamed, kChunk);
    cursor(bytes_of(step.a, streamed, bytes), places).pack(streams_.room(stream_next_), bytes);
    streams_.publish(stream_next_++);
    streamed += bytes;
    wake(step.partner);
  }
  pouring_ = kNoNumber;
  return true;
}

bool SharedChannel::draw(const path::Post& post, const coll::Step& step, const coll::Places& places,
                         std::uint64_t& streamed) noexcept {
  const std::uint64_t first = post.address & ~kStreamBit;
  while (streamed != post.bytes) {
    const std::uint64_t position = first + streamed / kChunk;
    const std::byte* chunk = streams_.find(step.partner, position);
    if (chunk == nullptr) return false;
    const std::uint64_t bytes = std::min<std::uint64_t>(post.bytes - streamed, kChunk);
    const std::uint64_t room = step.a.bytes - std::min(streamed, step.a.bytes);
    if (room != 0)
      cursor(bytes_of(step.a, streamed, std::min(bytes, room)), places).unpack(chunk, std::min(bytes, room));
    if (streams_.has_read(step.partner, position)) wake(step.partner);
    streamed += bytes;
  }
  return true;
}

bool SharedChannel::fetch(std::uint64_t number, const coll::Step& step, const coll::Places& places,
                          std::uint64_t& streamed, int& error) noexcept {
  const path::Post* post = channel_.posted(number, step.partner, step.tag);
  if (post == nullptr) return false;
  if ((post->address & kStreamBit) != 0) {
    if (step.whole && post->bytes > step.a.bytes) error = MPI_ERR_TRUNCATE;
    return draw(*post, step, places, streamed);
  }
  if (step.a.bytes == 0) return true;
  const std::uint64_t first = std::min(step.b.first, post->bytes);
  const std::uint64_t bytes = std::min(post->bytes - first, step.a.bytes);
  if (step.whole && post->bytes - first > step.a.bytes) error = MPI_ERR_TRUNCATE;
  type::Cursor to = cursor(step.a, places);
  if (post->address == 0) {
    to.unpack(channel_.copy_of(number, step.partner) + first, bytes);
    return true;
  }
  const std::int32_t pid = (*pids_)[static_cast<std::size_t>(step.partner)];
  for (std::uint64_t done = 0; done < bytes;) {
    type::Run runs[64];
    path::MemoryRun memory[64];
    const std::uint64_t before = to.position();
    const std::size_t n = to.next_runs(runs, bytes - done);
    for (std::size_t i = 0; i < n; ++i) memory[i] = {runs[i].data, runs[i].bytes};
    if (!path::read_memory(pid, post->address + first + done, {memory, n})) {
      error = MPI_ERR_BUFFER;
      return true;
    }
    done += to.position() - before;
  }
  return true;
}

bool SharedChannel::is_lost(std::uint64_t number, const coll::Step& step) noexcept {
  const engine::Engine& engine = runtime().engine();
  const auto lost = [&](int rank) {
    return engine.is_gone(comm_->peer(rank)) && !channel_.has_completed(number, rank);
  };
  if (step.kind == coll::StepKind::fetch || step.kind == coll::StepKind::draw) return lost(step.partner);
  for (int i = 0; i < comm_->size; ++i)
    if (i != comm_->rank && lost(i)) return true;
  return false;
}

}  // namespace herald::mpi
