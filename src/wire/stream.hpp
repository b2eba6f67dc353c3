// SPDX-License-Identifier: BSD-3-Clause
// wire/stream.hpp: what a TCP connection between two ranks carries: frames, of which the first prove the
// job's key, and the probe that tells whether UDP passes. docs/wire.md describes them.
//
//   opener                      acceptor
//     |  <- challenge (nonce) -    |      the acceptor's nonce is new: a recorded hello proves nothing
//     |  - hello (ranks, nonce, tag) ->   |
//     |  <- welcome (tag) --------  |      both sides hold the key; datagrams and reports follow
//
// With hello_bulk in the place of hello, the acceptor sends bulk frames to the opener from then on, and
// nothing else passes: BulkHead, then the bytes of a message that the opener pulled.
//
// The tags are SipHash-2-4 under the job's key over a label, both ranks, the epoch and both nonces.
#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "wire/datagram.hpp"
#include "wire/le.hpp"

namespace herald::wire {

constexpr std::uint8_t kStreamVersion = 1;

enum class StreamKind : std::uint8_t {
  challenge = 1,
  hello = 2,
  welcome = 3,
  datagram = 4,  // as UDP would carry it; `link`: by which it would have left
  report = 5,
  hello_bulk = 6,
};

struct StreamHead {
  Le<std::uint16_t> bytes;  // behind the head
  Le<std::uint8_t> kind;
  Le<std::uint8_t> link;  // datagram; otherwise 0
};

using StreamNonce = std::array<std::uint64_t, 2>;

struct StreamChallenge {
  Le<std::uint32_t> version;
  Le<std::uint64_t> nonce[2];
};

struct StreamHello {
  Le<std::uint32_t> version;
  Le<std::uint32_t> from, to;
  Le<std::uint64_t> nonce[2];
  Le<std::uint64_t> tag;
};

struct StreamWelcome {
  Le<std::uint64_t> tag;
};

struct StreamReport {
  Le<std::uint32_t> number;  // counts the sender's reports of this connection, from 1
  Le<std::uint32_t> heard;   // the newest UDP probe that came; 0: none
  Le<std::uint32_t> by_tcp;  // 1: the sender's datagrams go by TCP
  Le<std::uint64_t> tag;
};

// A datagram by UDP. Its first byte is the version of no other datagram.
constexpr std::uint8_t kUdpProbeVersion = 0x74;
struct UdpProbe {
  Le<std::uint8_t> version;
  Le<std::uint8_t> zero[3];
  Le<std::uint32_t> from;
  Le<std::uint32_t> number;  // from 1
  Le<std::uint64_t> tag;
};

static_assert(sizeof(StreamHead) == 4 && sizeof(StreamChallenge) == 20 && sizeof(StreamHello) == 36);
static_assert(sizeof(StreamReport) == 20 && sizeof(UdpProbe) == 20);

// Before the bytes of a bulk frame.
struct BulkHead {
  Le<std::uint32_t> receive_id;  // of the pull
  Le<std::uint32_t> bytes;       // that follow, at most kMostBulk
  Le<std::uint64_t> offset;      // of the first, in the message
  Le<std::uint32_t> checksum;    // CRC32C of what follows
  Le<std::uint32_t> zero;
  Le<std::uint64_t> tag;  // over all above and the number of the frame, under the key of the connection
};
static_assert(sizeof(BulkHead) == 32);
constexpr std::size_t kMostBulk = 1 << 20;

enum class StreamUse : std::uint8_t { datagrams, bulk };

constexpr std::size_t kLongestHandshake = sizeof(StreamHello);  // bytes behind a head, before the proof

// Tags and key of a connection, once both ends have exchanged nonces. The opener connected.
class StreamSession {
 public:
  StreamSession() noexcept = default;
  StreamSession(const Seal& seal, std::uint32_t opener, std::uint32_t acceptor, const StreamNonce& opened,
                const StreamNonce& accepted, StreamUse use = StreamUse::datagrams) noexcept;

  std::uint64_t hello_tag() const noexcept { return hello_; }
  std::uint64_t welcome_tag() const noexcept { return welcome_; }
  // Differ for each connection. Not for others to see: they hold its key.
  std::array<std::uint64_t, 4> words() const noexcept { return {hello_, welcome_, key_[0], key_[1]}; }
  // With its tag.
  StreamReport make_report(std::uint32_t from, std::uint32_t number, std::uint32_t heard,
                           bool by_tcp) const noexcept;
  UdpProbe make_probe(std::uint32_t from, std::uint32_t number) const noexcept;
  // Empty bytes, or a tag of another connection: false.
  bool read_report(std::uint32_t from, std::span<const std::byte> bytes, StreamReport& report) const noexcept;
  // `number` counts the frames of the connection, from 0.
  std::uint64_t bulk_tag(std::uint64_t number, const BulkHead& head) const noexcept;
  bool read_probe(std::span<const std::byte> bytes, UdpProbe& probe) const noexcept;

 private:
  JobKey key_{};  // of this connection
  std::uint64_t hello_ = 0, welcome_ = 0;
};

inline bool is_udp_probe(std::span<const std::byte> datagram) noexcept {
  return datagram.size() == sizeof(UdpProbe) &&
         std::to_integer<std::uint8_t>(datagram[0]) == kUdpProbeVersion;
}

// The sender that it names, before its tag is checked.
inline std::uint32_t probe_sender(std::span<const std::byte> datagram) noexcept {
  UdpProbe probe;
  std::memcpy(&probe, datagram.data(), sizeof probe);
  return probe.from;
}

}  // namespace herald::wire
