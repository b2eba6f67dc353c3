// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/notices.hpp"

namespace herald::p2p {

using namespace wire;

Notices::Notices(Core& core) noexcept : core_(core) {
  core_.services().register_handler(ServiceId::notice, {on_call, nullptr, this, true});
}

void Notices::send(PeerId to, const Notice& notice) noexcept {
  core_.services().call(to, ServiceId::notice,
                        NoticeHeader{notice.what, static_cast<std::uint32_t>(notice.member), notice.amount});
}

bool Notices::on_call(void* notices, const ServiceCall& call, type::Cursor&) noexcept {
  auto& self = *static_cast<Notices*>(notices);
  if (call.header.size() != sizeof(NoticeHeader) || !call.payload.empty()) return false;
  const auto& header = as<NoticeHeader>(call.header);
  const std::uint32_t what = header.what, member = header.member;
  if (what < kNoticeUnreachable || what > kNoticeNoUdp || member >= self.core_.peers().size()) return false;
  if (self.received_.size() < kMaxReceived)
    self.received_.push_back({call.from, static_cast<PeerId>(member), what, header.amount});
  return true;
}

}  // namespace herald::p2p
