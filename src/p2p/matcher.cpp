// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/matcher.hpp"

#include <cstring>

namespace herald::p2p {

Matcher::~Matcher() {
  contexts_.for_each([this](Context& context) {
    while (Message* message = context.unexpected.front()) {
      context.unexpected.remove(*message);
      message->arriving.unlink();
      pool_.put(message);
    }
  });
}

Message* Matcher::look(std::uint64_t id, std::int32_t source, std::int32_t tag, Found& found) noexcept {
  Context* context = contexts_.find(id);
  Message* message = context == nullptr ? nullptr : context->unexpected.find(source, tag);
  if (message == nullptr) return nullptr;
  found.source = message->envelope.source;
  found.tag = message->envelope.tag;
  found.bytes = message->envelope.bytes;
  return message;
}

bool Matcher::probe(std::uint64_t context, std::int32_t source, std::int32_t tag, Found& found) noexcept {
  if (look(context, source, tag, found) == nullptr) return false;
  found.message = nullptr;
  return true;
}

bool Matcher::take(std::uint64_t context, std::int32_t source, std::int32_t tag, Found& found) noexcept {
  Message* message = look(context, source, tag, found);
  if (message == nullptr) return false;
  contexts_.find(context)->unexpected.remove(*message);
  found.message = message;
  return true;
}

Message* Matcher::take_sent(std::uint64_t id, PeerId from, std::uint32_t seq) noexcept {
  Context* context = contexts_.find(id);
  Message* message = context == nullptr ? nullptr : context->unexpected.find_seq(from, seq);
  if (message != nullptr) context->unexpected.remove(*message);
  return message;
}

Message* Matcher::forget(std::uint64_t id) noexcept {
  Context* context = contexts_.find_or_make(id);
  if (context == nullptr) return nullptr;
  Message* message = context->unexpected.front();
  if (message != nullptr)
    context->unexpected.remove(*message);
  else
    contexts_.forget(*context);
  return message;
}

Message* Matcher::store(Context& context, const Envelope& envelope,
                        std::span<const std::byte> body) noexcept {
  const auto behind = static_cast<std::uint32_t>(body.size());
  Message* message = pool_.get(envelope.runs != 0 ? behind : envelope.pushed);
  if (message == nullptr) return nullptr;
  message->envelope = envelope;
  message->arrived = envelope.runs != 0 ? 0 : behind;
  flow_.hold(*message);
  if (behind != 0) std::memcpy(message->payload(), body.data(), behind);
  context.unexpected.add(*message);
  ++counters_.unexpected;
  return message;
}

void Matcher::drop(Message* message) noexcept {
  flow_.release(*message);
  message->arriving.unlink();
  pool_.put(message);
}

}  // namespace herald::p2p
