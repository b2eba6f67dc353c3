// SPDX-License-Identifier: BSD-3-Clause
#include "io/coordinator.hpp"

#include <utility>

namespace herald::io {

using wire::FileHeader;
using wire::FileKind;

Coordinator::Coordinator(Coordinators& all, std::uint64_t file, std::vector<p2p::PeerId> peers,
                         int rank) noexcept
    : all_(all), file_(file), peers_(std::move(peers)), rank_(rank), lock_ids_(peers_.size()) {
  all_.files_[file_] = this;
}

Coordinator::~Coordinator() { all_.files_.erase(file_); }

void Coordinator::fetch_add(std::int64_t value, Question& question) noexcept {
  ask(FileKind::fetch_add, value, question);
}
void Coordinator::store(std::int64_t value, Question& question) noexcept {
  ask(FileKind::store, value, question);
}
void Coordinator::lock(bool exclusive, Question& question) noexcept {
  ask(FileKind::lock, exclusive ? 1 : 0, question);
}

void Coordinator::ask(FileKind kind, std::int64_t value, Question& question) noexcept {
  const std::uint32_t id = next_id_++;
  question.answered = false;
  questions_[id] = &question;
  if (rank_ == 0) {
    (void)serve(0, kind, id, value);
    return;
  }
  const FileHeader header{file_, kind, {}, static_cast<std::uint32_t>(rank_), id, value};
  all_.services_.call(peers_[0], Coordinators::kService, header);
}

void Coordinator::unlock() noexcept {
  if (rank_ == 0) {
    (void)serve(0, FileKind::unlock, 0, 0);
    return;
  }
  const FileHeader header{file_, FileKind::unlock, {}, static_cast<std::uint32_t>(rank_), 0, 0};
  all_.services_.call(peers_[0], Coordinators::kService, header);
}

void Coordinator::abandon(Question& question) noexcept {
  std::erase_if(questions_, [&](const auto& entry) { return entry.second == &question; });
}

bool Coordinator::on_call(const FileHeader& header) noexcept {
  if (header.kind != FileKind::answer)
    return rank_ == 0 && serve(static_cast<int>(header.source), header.kind, header.id, header.value);
  on_answer(header.id, header.value);
  return true;
}

bool Coordinator::serve(int source, FileKind kind, std::uint32_t id, std::int64_t value) noexcept {
  switch (kind) {
    case FileKind::fetch_add:
      answer(source, id, pointer_);
      pointer_ += value;
      return true;
    case FileKind::store:
      pointer_ = value;
      answer(source, id, value);
      return true;
    case FileKind::lock:
      lock_ids_[static_cast<std::size_t>(source)] = id;
      if (locks_.request(source, value != 0)) answer(source, id, 0);
      return true;
    case FileKind::unlock:
      for (const int granted : locks_.release(source))
        answer(granted, lock_ids_[static_cast<std::size_t>(granted)], 0);
      return true;
    case FileKind::none:
    case FileKind::answer: break;
  }
  return false;
}

void Coordinator::answer(int source, std::uint32_t id, std::int64_t value) noexcept {
  if (source == rank_) {
    on_answer(id, value);
    return;
  }
  const FileHeader header{file_, FileKind::answer, {}, static_cast<std::uint32_t>(rank_), id, value};
  all_.services_.call(peers_[static_cast<std::size_t>(source)], Coordinators::kService, header);
}

void Coordinator::on_answer(std::uint32_t id, std::int64_t value) noexcept {
  const auto found = questions_.find(id);
  if (found == questions_.end()) return;
  found->second->value = value;
  found->second->answered = true;
  questions_.erase(found);
  all_.on_news_();
}

Coordinators::Coordinators(p2p::Services& services, void (*on_news)()) noexcept
    : services_(services), on_news_(on_news) {
  services_.register_handler(kService, {on_call, nullptr, this, true});
}

bool Coordinators::on_call(void* self, const p2p::ServiceCall& call, type::Cursor&) noexcept {
  if (call.header.size() != sizeof(FileHeader)) return false;
  const auto& header = *reinterpret_cast<const FileHeader*>(call.header.data());
  auto& files = static_cast<Coordinators*>(self)->files_;
  const auto found = files.find(header.file);
  if (found == files.end()) return false;
  const auto& peers = found->second->peers_;
  if (header.source >= peers.size() || peers[header.source] != call.from) return false;
  return found->second->on_call(header);
}

}  // namespace herald::io
