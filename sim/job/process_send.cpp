// SPDX-License-Identifier: BSD-3-Clause
// sim/job/process_send.cpp: sends of a simulated process, and datagrams on their way into the network.
#include <algorithm>

#include "sim/job/pattern.hpp"
#include "sim/job/process.hpp"

namespace herald::sim {

void Process::put(const rel::Tx& tx) {
  const std::uint8_t link = link_to(tx.to, tx.link);
  if (config_.hears_of_links && !net_.is_up(me_, link)) broken_.push_back({tx.to, tx.link});
  net_.send(me_, link, tx.to, tx.datagram, tx.rest);
  ++header_context_;
}

void Process::tell_broken(Instant now) {
  for (const auto& [peer, link] : broken_) mesh_.on_link_error(now, peer, link);
  broken_.clear();
}

// As a blocking send does; one that may be asked back is none.
bool Process::send_now(std::uint32_t index) {
  const Send& send = *sends_[index];
  const auto recalls = [index](const Step& step) { return step.what == Do::recall && step.index == index; };
  if (!config_.short_way || send.mode != p2p::SendMode::standard || !net_.may_send(me_) ||
      std::any_of(steps_.begin(), steps_.end(), recalls))
    return false;
  rel::Tx tx;
  const p2p::ShortSend what{.context = send.context,
                            .data = send.memory.get(),
                            .bytes = script_.sends[index].bytes,
                            .to = send.to,
                            .tag = send.tag,
                            .source = me_};
  if (!carrier_.send_now(now_, what, tx)) return false;
  put(tx);
  tell_broken(now_);
  return true;
}

void Process::start_send(std::uint32_t index) {
  const SendSpec& spec = script_.sends[index];
  sends_[index] = std::make_unique<Send>();
  Send& send = *sends_[index];
  send.memory = std::make_unique_for_overwrite<std::byte[]>(spec.bytes);
  fill_pattern(seed_, index, {send.memory.get(), spec.bytes});
  if (steps_[step_].what == Do::tell) send.memory[0] = std::byte{sends_[index - 1]->cancelled};
  send.context = spec.context;
  send.tag = spec.tag;
  send.to = spec.to;
  send.source = me_;
  send.mode = spec.mode;
  send.owner = this;
  send.on_done = on_send_done;
  send.data = type::Cursor::bytes(send.memory.get(), spec.bytes);
  ++pending_;
  if (!send_now(index)) return core_.start(send);
  send.done = true;
  on_send_done(send);
}

}  // namespace herald::sim
