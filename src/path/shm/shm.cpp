// SPDX-License-Identifier: BSD-3-Clause
#include "path/shm/shm.hpp"

#include "base/hash.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <sstream>

#include "base/fd.hpp"

namespace herald::path {
namespace {

// Rings of one process, in total and each; more if packets are long. With few ranks the rings are long:
// streams of messages of 4 and 8 KiB are then faster by a third.
constexpr std::uint64_t kLeastCells = 8;
constexpr std::uint32_t kForeignProducers = 4096;  // in the life of a process
constexpr std::size_t kForeignRingBytes = 65536;
constexpr std::size_t kAllRingBytes = 262144, kLeastRingBytes = 32768, kMostRingBytes = 262144;

std::string boot_id() {
  char text[64] = {};
  const int fd = safe_fd(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  const ssize_t n = fd < 0 ? 0 : ::read(fd, text, sizeof text - 1);
  if (fd >= 0) ::close(fd);
  std::string id(text, n > 0 ? static_cast<std::size_t>(n) : 0);
  while (!id.empty() && std::isspace(static_cast<unsigned char>(id.back()))) id.pop_back();
  return id.empty() ? "unknown" : id;
}

std::string hostname() {
  char text[256] = {};
  if (::gethostname(text, sizeof text - 1) != 0 || text[0] == '\0') return "?";
  return text;
}

std::string hex(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016" PRIx64, value);
  return text;
}

bool is_plain(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

std::string plain(const std::string& text, std::size_t most) {
  std::string out;
  std::copy_if(text.begin(), text.end(), std::back_inserter(out), is_plain);
  out.resize(std::min(out.size(), most));
  return out.empty() ? "0" : out;
}

bool is_file_name(const std::string& text) {
  return text.rfind("herald-", 0) == 0 && text.size() < 200 &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_plain(c) || c == '-'; });
}

}  // namespace

std::string write_card(const Card& card) {
  return "shm1 " + card.host_id + " " + card.machine + " " + card.file + " " + hex(card.nonce) + " " +
         card.hostname;
}

bool read_card(const std::string& text, Card& card) {
  std::string kind, nonce;
  std::string* const words[] = {&kind, &card.host_id, &card.machine, &card.file, &nonce, &card.hostname};
  std::size_t at = 0;
  for (std::string* word : words) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (at >= end) return false;
    *word = text.substr(at, end - at);
    at = end + 1;
  }
  if (kind != "shm1" || nonce.size() != 16 || !is_file_name(card.file)) return false;
  if (!std::all_of(nonce.begin(), nonce.end(), [](unsigned char c) { return std::isxdigit(c) != 0; }))
    return false;
  card.nonce = std::strtoull(nonce.c_str(), nullptr, 16);
  return true;
}

namespace {

SegmentShape shape_of(const ShmConfig& config, std::uint64_t cells, std::uint64_t rings) noexcept {
  SegmentShape shape;
  shape.inbox = InboxShape::make(cells, config.packet_bytes,
                                 static_cast<std::uint32_t>(config.size) + kForeignProducers);
  shape.rings = static_cast<std::uint32_t>(std::min(
      {rings, std::uint64_t{SegmentShape::kMostRings}, static_cast<std::uint64_t>(config.size - 1)}));
  if (shape.rings != 0)
    shape.ring = RingShape::make(std::clamp(kAllRingBytes / shape.rings, kLeastRingBytes, kMostRingBytes),
                                 shape.inbox.packet_bytes());
  return shape;
}

SegmentShape shape_for(const ShmConfig& config) noexcept {
  std::uint64_t cells = config.cells;
  SegmentShape shape = shape_of(config, cells, config.rings);
  if (config.most_bytes == 0 || shape.bytes() <= config.most_bytes) return shape;
  shape = shape_of(config, cells, 0);
  for (; shape.bytes() > config.most_bytes && cells > kLeastCells; shape = shape_of(config, cells, 0))
    cells = std::max(cells / 2, kLeastCells);
  return shape;
}

}  // namespace

std::unique_ptr<ShmPath> ShmPath::open(const ShmConfig& config, std::string& why) {
  std::unique_ptr<ShmPath> shm(new ShmPath(config));
  struct stat info {};
  if (::stat(config.directory.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    why = config.directory +
          " does not exist: ranks on one host need it for shared memory; mount a tmpfs on it";
    return nullptr;
  }
  remove_stale_segments(config.directory, ::geteuid());
  shm->card_.machine = boot_id();
  shm->card_.host_id = shm->card_.machine + "/" + std::to_string(info.st_dev);
  if (!config.host.empty()) shm->card_.host_id += "/" + hex(hash_text(config.host));
  shm->card_.hostname = hostname();
  shm->card_.nonce = config.nonce;
  shm->card_.file = "herald-" + std::to_string(::geteuid()) + "-" + plain(config.job, 40) + "-" +
                    std::to_string(config.rank) + "-" + hex(config.nonce).substr(0, 8);
  const SegmentName name{config.directory, shm->card_.file, config.nonce, config.rank};
  const SegmentShape shape = shape_for(config);
  if (!shm->own_.create(name, shape, config.cpus, why)) return nullptr;
  shm->own_.header().pid = ::getpid();
  shm->own_.header().probe = reinterpret_cast<std::uintptr_t>(&shm->config_.nonce);
  shm->cma_ = Cma::open(config.cma);
  shm->own_path_ = name.path();
  shm->own_bell_path_ = name.bell_path();
  shm->peers_.resize(static_cast<std::size_t>(config.size));
  shm->pids_.resize(static_cast<std::size_t>(config.size), -1);
  return shm;
}

bool ShmPath::attach_all(std::span<const std::string> cards, std::string& why) {
  std::vector<Card> all(cards.size());
  for (int rank = 0; rank < config_.size; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    if (rank == config_.rank || read_card(cards[at], all[at])) continue;
    why = "rank " + std::to_string(config_.rank) + " on host " + card_.hostname +
          " cannot read the address that rank " + std::to_string(rank) +
          " published: all ranks must load the same library";
    return false;
  }
  all[static_cast<std::size_t>(config_.rank)] = card_;
  std::map<std::string, int> first;
  for (int rank = 0; rank < config_.size; ++rank)
    first_.push_back(first.emplace(all[static_cast<std::size_t>(rank)].host_id, rank).first->second);
  for (int rank = 0; rank < config_.size; ++rank)
    if (rank != config_.rank && all[static_cast<std::size_t>(rank)].host_id == card_.host_id) ++others_;
  for (int i = 1; i < config_.size; ++i) {
    const int rank = (config_.rank + i) % config_.size;  // not all ranks at the same file at once
    const Card& card = all[static_cast<std::size_t>(rank)];
    if (card.host_id == card_.host_id && !attach(rank, card, others_, why)) return false;
  }
  if (others_ == 0) unlink_own();
  return true;
}

bool ShmPath::attach(int rank, const Card& card, std::uint32_t others, std::string& why) {
  Segment& segment = peers_[static_cast<std::size_t>(rank)];
  const SegmentName name{config_.directory, card.file, card.nonce, rank};
  std::string detail;
  if (!segment.attach(name, detail)) {
    why = "rank " + std::to_string(config_.rank) + " on host " + card_.hostname +
          " cannot attach the shared memory of rank " + std::to_string(rank) + ": " + detail;
    return false;
  }
  if (!is_one_host() && !segment.attach_bell(name, detail)) {
    why = "rank " + std::to_string(config_.rank) + " on host " + card_.hostname + " cannot wake rank " +
          std::to_string(rank) + ": " + detail;
    return false;
  }
  if (segment.header().attached.fetch_add(1, std::memory_order_acq_rel) + 1 == others) {
    ::unlink(name.bell_path().c_str());
    ::unlink(name.path().c_str());
  }
  return true;
}

Inbox* ShmPath::peer(int rank) noexcept {
  Segment& segment = peers_[static_cast<std::size_t>(rank)];
  return segment.is_open() ? &segment.inbox() : nullptr;
}

bool ShmPath::take_ring(int rank, RingWriter& ring, std::uint32_t& index) noexcept {
  if (rank >= config_.size) {
    const bool given = rings_of_[static_cast<std::size_t>(rank - config_.size)].take(ring, index);
    index += kForeignRing;
    return given;
  }
  Segment& segment = peers_[static_cast<std::size_t>(rank)];
  return segment.is_open() && segment.take_ring(ring, index);
}

const CpuMask& ShmPath::cpus_of(int rank) noexcept {
  Segment& segment = peers_[static_cast<std::size_t>(rank)];
  return segment.is_open() ? segment.header().cpus : own_.header().cpus;
}

bool ShmPath::can_reach(int rank) noexcept {
  Segment& segment = peers_[static_cast<std::size_t>(rank)];
  if (!segment.is_open() || !cma_) return false;
  const SegmentHeader& head = segment.header();
  if (!cma_->probe(head.pid, head.probe, head.nonce)) return false;
  pids_[static_cast<std::size_t>(rank)] = head.pid;
  return true;
}

std::uint64_t ShmPath::host_token() const noexcept {
  struct stat processes {};
  const bool known = ::stat("/proc/self/ns/pid", &processes) == 0;
  return hash_text(card_.host_id + "/" + std::to_string(::geteuid()) + "/" +
                   std::to_string(known ? processes.st_ino : 0));
}

// The words of a card between jobs: host, process, descriptors, nonce, rank; nothing in it is secret.
std::string ShmPath::foreign_card() {
  if (!own_.is_open()) return {};
  const RingShape shape = RingShape::make(kForeignRingBytes, own_.inbox().packet_bytes());
  if (!foreign_rings_.is_open() && !foreign_rings_.create(shape, card_.nonce)) return {};
  std::ostringstream out;
  out << card_.host_id << ',' << ::getpid() << ',' << own_.descriptor() << ',' << own_.bell_descriptor()
      << ',' << foreign_rings_.descriptor() << ',' << config_.rank << ',' << hex(card_.nonce);
  return out.str();
}

bool ShmPath::attach_foreign(int peer, const std::string& card) {
  std::istringstream in(card);
  std::string host, pid, file, bell, rings, rank, nonce, why;
  for (std::string* word : {&host, &pid, &file, &bell, &rings, &rank, &nonce})
    if (!std::getline(in, *word, ',')) return false;
  for (const std::string* word : {&pid, &file, &bell, &rings, &rank})
    if (word->empty() || word->size() > 9 || word->find_first_not_of("0123456789") != std::string::npos)
      return false;
  const auto id = static_cast<std::size_t>(peer);
  const std::size_t behind = id - static_cast<std::size_t>(config_.size);
  if (host != card_.host_id || !own_.is_open() || behind >= kForeignProducers) return false;
  SegmentName name{"/proc/" + pid + "/fd",  file, std::strtoull(nonce.c_str(), nullptr, 16),
                   std::atoi(rank.c_str()), true, bell};
  Segment segment;
  ForeignRings theirs;
  if (!segment.attach(name, why) || !segment.attach_bell(name, why) ||
      !theirs.attach(name.directory + "/" + rings, name.nonce) ||
      theirs.packet_bytes() != segment.inbox().packet_bytes())
    return false;
  if (peers_.size() <= id) {
    peers_.resize(id + 1);
    pids_.resize(id + 1, -1);
    rings_of_.resize(behind + 1);
  }
  peers_[id] = std::move(segment);
  rings_of_[behind] = std::move(theirs);
  return true;
}

void ShmPath::detach_foreign(int peer, std::int64_t ring) noexcept {
  if (!is_attached(peer)) return;
  if (ring >= kForeignRing)
    foreign_rings_.on_reader_left(static_cast<std::uint32_t>(ring) - kForeignRing, !is_alive(peer));
  rings_of_[static_cast<std::size_t>(peer - config_.size)].close();
  peers_[static_cast<std::size_t>(peer)].close();
}

bool ShmPath::all_attached() noexcept {
  return own_.header().attached.load(std::memory_order_acquire) >= others_;
}

void ShmPath::unlink_own() noexcept {
  // The name is random: no other file is hit, even if ours is gone already.
  if (own_path_.empty()) return;
  ::unlink(own_bell_path_.c_str());
  ::unlink(own_path_.c_str());
}

void ShmPath::close() noexcept {
  unlink_own();
  if (own_.is_open()) own_.inbox().close();
  own_.close();
  for (Segment& segment : peers_) segment.close();
  for (ForeignRings& rings : rings_of_) rings.close();
  foreign_rings_.close();
}

}  // namespace herald::path
