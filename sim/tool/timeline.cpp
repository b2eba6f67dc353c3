// SPDX-License-Identifier: BSD-3-Clause
// sim/tool/timeline.cpp: see timeline.hpp.
#include "sim/tool/timeline.hpp"

#include <cstring>
#include <string>

#include "wire/datagram.hpp"

namespace herald::sim {
namespace {

std::string describe(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(wire::DatagramHead)) return "too short to be one of ours";
  wire::DatagramHead head;
  std::memcpy(&head, bytes.data(), sizeof head);
  const char* kind = "?";
  switch (static_cast<wire::DatagramKind>(static_cast<std::uint8_t>(head.kind))) {
    case wire::DatagramKind::fragment: kind = "part"; break;
    case wire::DatagramKind::data: kind = "data"; break;
    case wire::DatagramKind::ack: kind = "ack"; break;
    case wire::DatagramKind::probe: kind = "probe"; break;
    case wire::DatagramKind::probe_reply: kind = "reply"; break;
    case wire::DatagramKind::cast: kind = "cast"; break;
    case wire::DatagramKind::cast_ack: kind = "c_ack"; break;
    case wire::DatagramKind::cast_nak: kind = "c_nak"; break;
    case wire::DatagramKind::cast_ask: kind = "c_ask"; break;
    case wire::DatagramKind::contribution: kind = "contr"; break;
    case wire::DatagramKind::result: kind = "result"; break;
    case wire::DatagramKind::contribution_ack: kind = "contr_ack"; break;
    case wire::DatagramKind::compact_contribution: kind = "compact"; break;
  }
  const std::uint8_t flags = head.flags;
  char text[200];
  int used = std::snprintf(text, sizeof text, "%-5s seq %u%s%s%s", kind, static_cast<std::uint32_t>(head.seq),
                           (flags & wire::kFlagRecords) != 0 ? " records" : "",
                           (flags & wire::kFlagBacklog) != 0 ? " backlog" : "",
                           (flags & wire::kFlagAskAck) != 0 ? " ask" : "");
  const std::size_t before_body = wire::head_bytes(flags);
  if ((flags & wire::kFlagAck) != 0 && bytes.size() >= before_body) {
    const wire::AckPart ack = wire::read_ack(bytes.subspan(sizeof head, before_body - sizeof head));
    std::snprintf(text + used, sizeof text - static_cast<std::size_t>(used),
                  " [next %u credit %u holes %llx newest %u]", static_cast<std::uint32_t>(ack.next),
                  static_cast<std::uint32_t>(ack.credit),
                  static_cast<unsigned long long>(static_cast<std::uint64_t>(ack.holes)),
                  static_cast<std::uint32_t>(ack.newest));
  }
  return text;
}

}  // namespace

void Timeline::on_sight(Instant now, Sight sight, HostId from, HostId to, std::uint8_t link,
                        std::span<const std::byte> bytes) {
  std::fprintf(out_, "%14.6f ms  %3d -> %-3d link %u  %-11s %5zu B  %s\n", static_cast<double>(now.ns) / 1e6,
               from, to, link, word(sight), bytes.size(), describe(bytes).c_str());
}

void Timeline::on_action(Instant now, const std::string& what) {
  std::fprintf(out_, "%14.6f ms  ---- %s\n", static_cast<double>(now.ns) / 1e6, what.c_str());
}

}  // namespace herald::sim
