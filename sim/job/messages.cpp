// SPDX-License-Identifier: BSD-3-Clause
#include "sim/job/messages.hpp"

#include <cstdio>

#include "base/fatal.hpp"
#include "sim/job/pattern.hpp"

namespace herald::sim {

Messages::Messages(const Script& script, HostId me, std::uint64_t seed, p2p::Core& core)
    : script_(script),
      me_(me),
      seed_(seed),
      core_(core),
      sends_(script.sends.size()),
      recvs_(script.receives.size()) {}

void Messages::on_done(p2p::Op& op) {
  auto& me = *static_cast<Messages*>(op.owner);
  HERALD_ASSERT(me.pending_ != 0);
  --me.pending_;
}

void Messages::start_send(std::uint32_t index, bool tells) {
  const SendSpec& spec = script_.sends[index];
  sends_[index] = std::make_unique<Send>();
  Send& send = *sends_[index];
  send.memory = std::make_unique_for_overwrite<std::byte[]>(spec.bytes);
  fill_pattern(seed_, index, {send.memory.get(), spec.bytes});
  if (tells) send.memory[0] = std::byte{sends_[index - 1]->cancelled};
  send.context = spec.context;
  send.tag = spec.tag;
  send.to = spec.to;
  send.source = me_;
  send.mode = spec.mode;
  send.owner = this;
  send.on_done = on_send_done;
  send.data = type::Cursor::bytes(send.memory.get(), spec.bytes);
  ++pending_;
  core_.start(send);
}

void Messages::start_receive(std::uint32_t index) {
  const RecvSpec& spec = script_.receives[index];
  recvs_[index] = std::make_unique<Recv>();
  Recv& recv = *recvs_[index];
  recv.memory = std::make_unique<std::byte[]>(spec.room);
  recv.context = spec.context;
  recv.source = spec.source;
  recv.awaited = spec.source;
  recv.tag = spec.tag;
  recv.owner = this;
  recv.on_done = on_done;
  recv.data = type::Cursor::bytes(recv.memory.get(), spec.room);
  ++pending_;
  if (spec.probed) {
    probing_.push_back(index);
    look_for_probed();
    return;
  }
  order_.push_back(index);
  core_.start(recv);
}

bool Messages::look_for_probed() {
  bool found_any = false;
  for (std::size_t i = 0; i < probing_.size();) {
    const std::uint32_t index = probing_[i];
    Recv& recv = *recvs_[index];
    p2p::Found found;
    const bool lost = recv.source != p2p::kAnySource && core_.is_gone(recv.source);
    if (core_.matcher().take(recv.context, recv.source, recv.tag, found)) {
      order_.push_back(index);
      core_.start_matched(recv, found.message);
    } else if (lost) {
      recv.done = true;
      recv.status = Status::peer_lost;
      --pending_;
    } else {
      ++i;
      continue;
    }
    found_any = true;
    probing_.erase(probing_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return found_any;
}

void Messages::recall(std::uint32_t index) {
  Send& send = *sends_[index];
  send.recalled = true;
  const bool was_done = send.done;
  core_.cancel(send);
  if (was_done && !send.done) ++pending_;
}

void Messages::heed(std::uint32_t index) {
  const Recv& news = *recvs_[index + 1];
  const bool started = recvs_[index] != nullptr;
  if (news.status != Status::ok) return;
  if (news.memory[0] == std::byte{0}) {
    if (!started) start_receive(index);
  } else if (started) {
    recvs_[index]->unwanted = true;
    core_.cancel(*recvs_[index]);
  }
}

std::string Messages::state() const {
  char text[256];
  std::string out;
  int shown = 0;
  for (std::size_t i = 0; i < sends_.size(); ++i)
    if (sends_[i] != nullptr && !sends_[i]->done && shown++ < 4) {
      const SendSpec& spec = script_.sends[i];
      std::snprintf(text, sizeof text, "  send %zu to %d, tag %d, %llu bytes, phase %d, %llu left\n", i,
                    spec.to, spec.tag, static_cast<unsigned long long>(spec.bytes),
                    static_cast<int>(sends_[i]->phase),
                    static_cast<unsigned long long>(sends_[i]->data.remaining()));
      out += text;
    }
  for (std::size_t i = 0; i < recvs_.size(); ++i)
    if (recvs_[i] != nullptr && !recvs_[i]->done && shown++ < 8) {
      const Recv& recv = *recvs_[i];
      std::snprintf(text, sizeof text, "  receive %zu from %d, tag %d, room %llu, phase %d, %llu come\n", i,
                    recv.source, recv.tag, static_cast<unsigned long long>(script_.receives[i].room),
                    static_cast<int>(recv.phase), static_cast<unsigned long long>(recv.data.position()));
      out += text;
    }
  return out;
}

}  // namespace herald::sim
