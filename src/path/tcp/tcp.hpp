// SPDX-License-Identifier: BSD-3-Clause
// path/tcp/tcp.hpp: TCP connections between processes: listening sockets, connections that we open and that
// come, and their frames. Nothing here knows keys: the owner decides which connection it trusts.
// In:  addresses; frames to send. Out: events, pulled by poll().
// Invariants: no call blocks; connections that are not trusted are few and use little memory.
#pragma once
#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "path/tcp/stream.hpp"

namespace herald::path {

using TcpId = std::uint32_t;  // of a connection; never used twice; 0: none

struct TcpEvent {
  enum class Kind : std::uint8_t {
    opened,    // a connection that we opened is there
    accepted,  // a connection came
    frame,     // valid until the next poll()
    closed,    // by the other end, or refused; its id is gone
  };
  Kind kind;
  TcpId id;
  TcpFrame frame = {};
  bool refused = false;  // closed: the host has no process with that port
};

class TcpPath {
 public:
  static constexpr std::size_t kMostUntrusted = 64;

  TcpPath();
  ~TcpPath();
  TcpPath(const TcpPath&) = delete;
  TcpPath& operator=(const TcpPath&) = delete;

  // False: the port is in use, or TCP is not available.
  bool listen(const sockaddr& at, socklen_t length);
  // 0: it failed at once, for the reason in errno.
  TcpId connect(const sockaddr& from, const sockaddr& to, socklen_t length);
  void trust(TcpId id);
  void close(TcpId id);
  // Its descriptor, for TcpRaw; -1: bytes of it are in memory. The connection is gone from here.
  int release(TcpId id);
  // Returns how many of the frames left or are kept; the rest did not fit, or the connection is gone.
  std::size_t send(TcpId id, std::span<const TcpFrame> frames);

  // Until it has nothing: frames that were read need no descriptor any more. The oldest connection that came
  // and is not trusted is closed where there are too many.
  std::span<const TcpEvent> poll();
  int descriptor() const noexcept { return epoll_; }  // readable: poll() has something
  bool has_connections() const noexcept { return !connections_.empty(); }

 private:
  struct Connection {
    explicit Connection(int fd) : stream(fd) {}
    tcp::Stream stream;
    bool connecting = false, trusted = false, watches_writes = false;
  };
  TcpId add(int fd, bool connecting);
  bool watch(TcpId id, Connection& connection, bool writes) noexcept;
  void accept_from(int listener);
  void serve(TcpId id, std::uint32_t what);
  void read_frames(TcpId id, Connection& connection);
  bool take_frames(TcpId id, Connection& connection);
  void drop(TcpId id, bool tell, bool refused = false);

  int epoll_ = -1;
  TcpId last_id_ = 0;
  std::vector<int> listeners_;
  std::unordered_map<TcpId, std::unique_ptr<Connection>> connections_;
  std::vector<TcpId> untrusted_;                        // that came, oldest first
  std::vector<std::unique_ptr<Connection>> graveyard_;  // events may refer to their memory
  std::vector<TcpId> half_read_;                        // more frames may be in their memory
  std::vector<TcpId> from_memory_;                      // those whose frames the last poll() took from there
  std::vector<TcpEvent> events_, later_;                // `later_`: found outside poll()
};

}  // namespace herald::path
