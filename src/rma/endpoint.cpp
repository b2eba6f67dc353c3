// SPDX-License-Identifier: BSD-3-Clause
#include "rma/endpoint.hpp"

namespace herald::rma {

using wire::RmaHeader;
using wire::RmaKind;

namespace {

const RmaHeader& header_of(const p2p::ServiceCall& call) noexcept {
  return *reinterpret_cast<const RmaHeader*>(call.header.data());
}

bool is_answer(const RmaHeader& header) noexcept { return header.kind >= RmaKind::reply; }

}  // namespace

Endpoint::Endpoint(p2p::Services& services, void (*on_news)()) noexcept
    : services_(services), on_news_(on_news) {
  services_.register_handler(kService, {on_call, on_bulk, this, true});
}

// Null: the call is malformed, or of a window that this process does not have.
Window* Endpoint::find(const p2p::ServiceCall& call) noexcept {
  if (call.header.size() != sizeof(RmaHeader)) return nullptr;
  const RmaHeader& header = header_of(call);
  const auto found = windows_.find(header.window);
  if (found == windows_.end()) return nullptr;
  const std::vector<p2p::PeerId>& peers = found->second->peers;
  return header.source < peers.size() && peers[header.source] == call.from ? found->second : nullptr;
}

bool Endpoint::on_call(void* self, const p2p::ServiceCall& call, type::Cursor& into) noexcept {
  auto& endpoint = *static_cast<Endpoint*>(self);
  Window* window = endpoint.find(call);
  if (window == nullptr) return false;
  const RmaHeader& header = header_of(call);
  const bool good = is_answer(header) ? window->origin.on_call(header, call, into)
                                      : window->target.on_call(header, call, into);
  endpoint.on_news_();
  return good;
}

void Endpoint::on_bulk(void* self, const p2p::ServiceCall& call, Status status, std::uint64_t) noexcept {
  auto& endpoint = *static_cast<Endpoint*>(self);
  Window* window = endpoint.find(call);
  if (window == nullptr) return;
  const RmaHeader& header = header_of(call);
  if (is_answer(header))
    window->origin.on_bulk(header, status);
  else
    window->target.on_bulk(header, status);
  endpoint.on_news_();
}

}  // namespace herald::rma
