// SPDX-License-Identifier: BSD-3-Clause
// launch/output.cpp: see output.hpp.
#include "output.hpp"

#include <algorithm>

#include "text.hpp"

namespace herald::launch {

OutputMux::OutputMux(int ranks, bool label, bool show_prompts)
    : sources_(static_cast<std::size_t>(ranks)), label_(label), show_prompts_(show_prompts) {}

void OutputMux::on_bytes(int rank, std::string_view bytes, Millis now) {
  Source& source = sources_[static_cast<std::size_t>(rank)];
  if (bytes.empty()) return;
  now_ = now;
  if (source.pending.empty()) ++partial_;
  source.pending += bytes;
  source.last_input = now;
  if (owner_ < 0 || owner_ == rank) emit(rank, false);
}

void OutputMux::on_end(int rank) {
  sources_[static_cast<std::size_t>(rank)].ended = true;
  if (owner_ >= 0 && owner_ != rank) return;  // release() writes it later
  emit(rank, true);
  if (owner_ == rank) release();
}

void OutputMux::release_alike(bool all) {
  const std::string text = alike_.release(now_, all);
  if (text.empty()) return;
  if (unfinished_ >= 0) ready_ += '\n';
  unfinished_ = -1;
  ready_ += text;
}

void OutputMux::on_time(Millis now) {
  now_ = now;
  release_alike(false);
  if (owner_ >= 0 && sources_[static_cast<std::size_t>(owner_)].last_input + kPromptPause <= now) release();
  if (!show_prompts_ || partial_ == 0 || owner_ >= 0) return;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (!sources_[i].pending.empty() && sources_[i].last_input + kPromptPause <= now) {
      emit(static_cast<int>(i), true);
      owner_ = -1;  // a prompt does not delay other ranks
    }
  }
}

void OutputMux::on_all_ended() {
  owner_ = -1;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    emit(static_cast<int>(i), true);
    owner_ = -1;
  }
  release_alike(true);
  if ((label_ || stamp_) && unfinished_ >= 0) ready_ += '\n';
  unfinished_ = -1;
}

void OutputMux::add_message(std::string_view text) {
  release_alike(true);
  if (unfinished_ >= 0) ready_ += '\n';
  unfinished_ = -1;
  ready_ += text;
  ready_ += '\n';
}

std::optional<Millis> OutputMux::next_deadline() const {
  std::optional<Millis> first = alike_.next_deadline();
  const auto sooner = [&](Millis at) {
    if (!first || at < *first) first = at;
  };
  if (owner_ >= 0) sooner(sources_[static_cast<std::size_t>(owner_)].last_input + kPromptPause);
  if (!show_prompts_ || partial_ == 0 || owner_ >= 0) return first;
  for (const Source& source : sources_)
    if (!source.pending.empty()) sooner(source.last_input + kPromptPause);
  return first;
}

void OutputMux::emit(int rank, bool all) {
  Source& source = sources_[static_cast<std::size_t>(rank)];
  const std::size_t newline = source.pending.rfind('\n');
  std::size_t cut = newline == std::string::npos ? 0 : newline + 1;
  if (all || source.pending.size() - cut > kLineLimit) cut = source.pending.size();
  if (cut == 0) return;
  append(rank, std::string_view(source.pending).substr(0, cut));
  source.pending.erase(0, cut);
  if (source.pending.empty()) --partial_;
  const bool open = unfinished_ == rank && !all;
  if (open) {
    owner_ = rank;
  } else if (owner_ == rank) {
    release();
  }
}

// `text` continues the rank's previous text.
void OutputMux::append(int rank, std::string_view text) {
  if (merges_ && !stamp_ && unfinished_ < 0) {
    ready_ += alike_.take(text, now_);
    if (ready_.empty()) return;
  } else if (!label_ && !stamp_) {
    ready_ += text;
  } else {
    bool starts_line = unfinished_ != rank;
    if (unfinished_ >= 0 && unfinished_ != rank) ready_ += '\n';
    std::string prefix = stamp_ ? stamp_() + " " : "";
    if (label_) prefix += cat('[', numbers_.empty() ? rank : numbers_[static_cast<std::size_t>(rank)], "] ");
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
      if (starts_line) ready_ += prefix;
      ready_ += text.substr(0, end);
      text.remove_prefix(end);
      starts_line = true;
    }
  }
  unfinished_ = ready_.back() == '\n' ? -1 : rank;
}

void OutputMux::release() {
  owner_ = -1;
  for (std::size_t i = 0; i < sources_.size() && owner_ < 0; ++i)
    if (!sources_[i].pending.empty()) emit(static_cast<int>(i), sources_[i].ended);
}

}  // namespace herald::launch
