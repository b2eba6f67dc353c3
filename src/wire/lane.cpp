// SPDX-License-Identifier: BSD-3-Clause
#include "wire/lane.hpp"

namespace herald::wire {
namespace {

std::size_t row_bytes(std::span<const std::byte> body) noexcept {
  return std::to_integer<std::size_t>(body.back()) * sizeof(AckRow) + 1;
}

}  // namespace

bool lane_body_fits(DatagramKind kind, std::uint8_t flags, std::span<const std::byte> body) noexcept {
  switch (kind) {
    case DatagramKind::cast: {
      if (body.size() <= sizeof(LanePart)) return false;
      const std::size_t rows = (flags & kFlagRows) != 0 ? row_bytes(body) : 0;
      return rows != 1 && sizeof(LanePart) + rows < body.size();
    }
    case DatagramKind::cast_ack: return body.size() == sizeof(CastAck);
    case DatagramKind::cast_nak: {
      if (body.size() <= sizeof(CastNak) || (body.size() - sizeof(CastNak)) % sizeof(NakRange) != 0)
        return false;
      const std::size_t count = (body.size() - sizeof(CastNak)) / sizeof(NakRange);
      for (std::size_t i = 0; i < count; ++i)
        if (part_at<NakRange>(body, sizeof(CastNak) + i * sizeof(NakRange)).count == 0) return false;
      return count <= kMaxNakRanges;
    }
    case DatagramKind::cast_ask:
    case DatagramKind::contribution_ack: return body.size() == sizeof(LanePart);
    case DatagramKind::contribution:
      return body.size() >= sizeof(ContributionPart) &&
             ((flags & kFlagNoContribution) == 0 || body.size() == sizeof(ContributionPart));
    case DatagramKind::result: return body.size() >= sizeof(ResultPart);
    case DatagramKind::fragment:
    case DatagramKind::compact_contribution:
    case DatagramKind::data:
    case DatagramKind::ack:
    case DatagramKind::probe:
    case DatagramKind::probe_reply: break;
  }
  return false;
}

ContributionView view_contribution(DatagramKind kind, std::span<const std::byte> body) noexcept {
  if (kind == DatagramKind::compact_contribution) return {0, body};
  return {part_at<ContributionPart>(body).behind, body.subspan(sizeof(ContributionPart))};
}

CastView view_cast(std::uint8_t flags, std::span<const std::byte> body) noexcept {
  CastView view;
  view.lane = &part_at<LanePart>(body);
  const std::size_t rows = (flags & kFlagRows) != 0 ? row_bytes(body) : 0;
  view.packet = body.subspan(sizeof(LanePart), body.size() - sizeof(LanePart) - rows);
  if (rows != 0) view.rows = {&part_at<AckRow>(body, body.size() - rows), (rows - 1) / sizeof(AckRow)};
  return view;
}

}  // namespace herald::wire
