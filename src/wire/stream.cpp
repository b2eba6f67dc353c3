// SPDX-License-Identifier: BSD-3-Clause
#include "wire/stream.hpp"

#include "wire/siphash.hpp"

namespace herald::wire {
namespace {

// The first byte of a label differs from the version with which the input of other tags begins.
constexpr std::uint64_t kHelloLabel = 0x0000006f6c6c6568;    // "hello"
constexpr std::uint64_t kWelcomeLabel = 0x00656d6f636c6577;  // "welcome"
constexpr std::uint64_t kReportLabel = 0x000074726f706572;   // "report"
constexpr std::uint64_t kProbeLabel = 0x00000065626f7270;    // "probe"
constexpr std::uint64_t kBulkLabel = 0x000000006b6c7562;     // "bulk"
constexpr std::uint64_t kKeyLabel = 0x0000000079656b;        // "key"

std::uint64_t tag_of(const JobKey& key, std::span<const std::uint64_t> words) noexcept {
  SipHash hash(key);
  for (const std::uint64_t word : words) hash.add(word);
  return hash.finish(0, 8 * words.size());
}

std::uint64_t report_tag(const JobKey& key, std::uint32_t from, const StreamReport& report) noexcept {
  const std::array<std::uint64_t, 4> words{kReportLabel, from,
                                           report.number | std::uint64_t{report.heard} << 32, report.by_tcp};
  return tag_of(key, words);
}

std::uint64_t probe_tag(const JobKey& key, const UdpProbe& probe) noexcept {
  const std::array<std::uint64_t, 2> words{kProbeLabel, probe.from | std::uint64_t{probe.number} << 32};
  return tag_of(key, words);
}

}  // namespace

StreamSession::StreamSession(const Seal& seal, std::uint32_t opener, std::uint32_t acceptor,
                             const StreamNonce& opened, const StreamNonce& accepted, StreamUse use) noexcept {
  const std::uint64_t of_use = use == StreamUse::bulk ? kBulkLabel << 32 : 0;
  std::array<std::uint64_t, 7> words{kHelloLabel,         opener | std::uint64_t{acceptor} << 32,
                                     seal.epoch | of_use, opened[0],
                                     opened[1],           accepted[0],
                                     accepted[1]};
  hello_ = tag_of(seal.key, words);
  words[0] = kWelcomeLabel;
  welcome_ = tag_of(seal.key, words);
  words[0] = kKeyLabel;
  key_[0] = tag_of(seal.key, words);
  words[0] = kKeyLabel + 1;
  key_[1] = tag_of(seal.key, words);
}

StreamReport StreamSession::make_report(std::uint32_t from, std::uint32_t number, std::uint32_t heard,
                                        bool by_tcp) const noexcept {
  StreamReport report{number, heard, std::uint32_t{by_tcp ? 1u : 0u}, {}};
  report.tag = report_tag(key_, from, report);
  return report;
}

UdpProbe StreamSession::make_probe(std::uint32_t from, std::uint32_t number) const noexcept {
  UdpProbe probe{kUdpProbeVersion, {}, from, number, {}};
  probe.tag = probe_tag(key_, probe);
  return probe;
}

std::uint64_t StreamSession::bulk_tag(std::uint64_t number, const BulkHead& head) const noexcept {
  const std::array<std::uint64_t, 5> words{kBulkLabel, number,
                                           head.receive_id | std::uint64_t{head.bytes} << 32, head.offset,
                                           head.checksum | std::uint64_t{head.zero} << 32};
  return tag_of(key_, words);
}

bool StreamSession::read_report(std::uint32_t from, std::span<const std::byte> bytes,
                                StreamReport& report) const noexcept {
  StreamReport read;
  if (bytes.size() != sizeof read) return false;
  std::memcpy(&read, bytes.data(), sizeof read);
  if (read.tag != report_tag(key_, from, read)) return false;
  report = read;
  return true;
}

bool StreamSession::read_probe(std::span<const std::byte> bytes, UdpProbe& probe) const noexcept {
  UdpProbe read;
  if (!is_udp_probe(bytes)) return false;
  std::memcpy(&read, bytes.data(), sizeof read);
  const bool zero = read.zero[0] == 0 && read.zero[1] == 0 && read.zero[2] == 0;
  if (!zero || read.tag != probe_tag(key_, read)) return false;
  probe = read;
  return true;
}

}  // namespace herald::wire
