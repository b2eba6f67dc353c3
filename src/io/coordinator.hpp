// SPDX-License-Identifier: BSD-3-Clause
// io/coordinator.hpp: the shared pointer and the lock of a file. Rank 0 of the file has them; the others call
// it by service messages, so nothing is kept beside the file. In:  calls of this rank (fetch_add, store,
// lock, unlock); service calls of other ranks. Out: a Question that becomes `answered`, at once at rank 0.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "p2p/services.hpp"
#include "rma/lock_queue.hpp"
#include "wire/file_packet.hpp"

namespace herald::io {

// The caller keeps it in place until it is answered.
struct Question {
  bool answered = false;
  std::int64_t value = 0;
};

class Coordinators;

class Coordinator {
 public:
  // `file` is the same number at all ranks, and unique.
  Coordinator(Coordinators& all, std::uint64_t file, std::vector<p2p::PeerId> peers, int rank) noexcept;
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  void fetch_add(std::int64_t value, Question& question) noexcept;
  void store(std::int64_t value, Question& question) noexcept;
  void lock(bool exclusive, Question& question) noexcept;
  void unlock() noexcept;
  // The caller waits no longer for this one (its peer has ended).
  void abandon(Question& question) noexcept;
  p2p::PeerId owner() const noexcept { return peers_[0]; }

 private:
  friend class Coordinators;
  void ask(wire::FileKind kind, std::int64_t value, Question& question) noexcept;
  bool on_call(const wire::FileHeader& header) noexcept;
  bool serve(int source, wire::FileKind kind, std::uint32_t id, std::int64_t value) noexcept;
  void answer(int source, std::uint32_t id, std::int64_t value) noexcept;
  void on_answer(std::uint32_t id, std::int64_t value) noexcept;

  Coordinators& all_;
  const std::uint64_t file_;
  const std::vector<p2p::PeerId> peers_;
  const int rank_;
  std::uint32_t next_id_ = 1;
  std::map<std::uint32_t, Question*> questions_;
  // At rank 0:
  std::int64_t pointer_ = 0;
  rma::LockQueue locks_;
  std::vector<std::uint32_t> lock_ids_;  // of the lock request of each rank
};

// Those of this process; passes each service call to its file.
class Coordinators {
 public:
  static constexpr auto kService = p2p::ServiceId::file;
  // `on_news` is called when a question has been answered.
  Coordinators(p2p::Services& services, void (*on_news)()) noexcept;
  Coordinators(const Coordinators&) = delete;
  Coordinators& operator=(const Coordinators&) = delete;
  ~Coordinators() { services_.register_handler(kService, {}); }

 private:
  friend class Coordinator;
  static bool on_call(void* self, const p2p::ServiceCall& call, type::Cursor& into) noexcept;

  p2p::Services& services_;
  void (*on_news_)();
  std::map<std::uint64_t, Coordinator*> files_;
};

}  // namespace herald::io
