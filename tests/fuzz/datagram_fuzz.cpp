// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: some datagram is read beyond its end, is accepted despite a wrong tag, or is split
// into parts that it does not have. The first byte chooses whether the datagram gets a right tag, so that the
// code behind the tag is reached. The key depends on the input: the fuzzer sees compared values, and would
// put the missing tag into the next input.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "wire/datagram.hpp"
#include "wire/lane.hpp"

using namespace herald::wire;

namespace {

constexpr std::uint32_t kMe = 5;

void check_records(std::span<const std::byte> body) {
  while (!body.empty()) {
    if (body.size() < kRecordHead) std::abort();
    std::uint16_t length;
    std::memcpy(&length, body.data(), sizeof length);
    if (body.size() - kRecordHead < length) std::abort();
    body = body.subspan(kRecordHead + length);
  }
}

void check_cast(const DatagramView& view) {
  const CastView cast = view_cast(view.flags, view.body);
  const auto* begin = view.body.data();
  const auto* end = begin + view.body.size();
  const auto* rows = reinterpret_cast<const std::byte*>(cast.rows.data());
  if (reinterpret_cast<const std::byte*>(cast.lane) != begin || cast.packet.data() < begin ||
      cast.packet.data() + cast.packet.size() > end)
    std::abort();
  if (!cast.rows.empty() && (rows < begin || rows + cast.rows.size_bytes() > end)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const bool with_tag = (data[0] & 1) != 0;
  // A copy of just its length, so that reading past its end is seen.
  std::vector<std::byte> datagram(size - 1);
  if (size > 1) std::memcpy(datagram.data(), data + 1, size - 1);
  const Seal job{{1, siphash24({2, 3}, std::as_bytes(std::span(data, size)))}, 0x0304};
  const std::size_t head =
      datagram.size() > 2 ? head_bytes(std::to_integer<std::uint8_t>(datagram[2])) : sizeof(DatagramHead);
  if (with_tag && datagram.size() >= head) {
    datagram[3] = std::byte{0x04};
    seal(job, kMe, crc32c(std::span(datagram).subspan(head)), std::span(datagram).first(head));
  }
  std::array<OpenedDatagram, 3> row{};  // twice the same, and its beginning
  row[0].datagram = row[1].datagram = datagram;
  row[2].datagram = std::span(datagram).first(datagram.size() / 2);
  open_datagrams(job, kMe, row);
  DatagramView view;
  const Opened alone = open_datagram(job, kMe, datagram, view);
  if (row[0].opened != alone || row[1].opened != alone) std::abort();
  if (open_datagram(job, kMe, datagram, view) != Opened::good) return 0;
  if (!with_tag) std::abort();  // a tag of 64 bits was guessed
  if (view.body.size() + head != datagram.size() || view.ack.size() + sizeof(DatagramHead) != head)
    std::abort();
  if (view.kind == DatagramKind::data && (view.flags & kFlagRecords) != 0) check_records(view.body);
  if (view.kind == DatagramKind::cast) check_cast(view);
  datagram[(data[0] >> 1) % datagram.size()] ^= std::byte{0x10};
  if (open_datagram(job, kMe, datagram, view) == Opened::good) std::abort();
  return 0;
}
