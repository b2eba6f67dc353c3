// SPDX-License-Identifier: BSD-3-Clause
// launch/relay.hpp: copies between one framed connection and the descriptors of its channels, both ways, with
// back-pressure. It owns the descriptors. One for each host in mpiexec, and one in the proxy.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "frames.hpp"

namespace herald::launch {

class Relay {
 public:
  // Frames that belong to no descriptor.
  using OnFrame = std::function<void(const Frame&)>;
  Relay(int in, int out, bool after_marker, OnFrame on_frame);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  void add_source(Channel channel, int fd);  // its bytes are sent
  void add_sink(Channel channel, int fd);    // bytes that come are written to it
  void send(Channel channel, std::string_view payload) { append_frame(to_send_, channel, payload); }
  void send_raw(std::string_view text) { to_send_ += text; }
  // So many bytes of this channel may be sent until taken() frees some.
  void limit(Channel channel, std::size_t bytes);
  void taken(Channel channel, std::size_t bytes);
  // Waits for the connection, the channels and `extra` (may be -1), at most so long. True: `extra` is
  // readable.
  bool turn(int milliseconds, int extra);

  bool is_connected() const { return in_ >= 0; }
  bool found_peer() const { return reader_.found_marker(); }
  bool has_written() const;  // everything that came has been written
  bool has_sent() const { return to_send_.empty() || out_ < 0; }
  bool has_source(Channel channel) const;
  const std::string& noise() const { return reader_.noise(); }

 private:
  struct End {
    Channel channel;
    int fd;
    bool source;
    std::string pending = {};            // sink: to be written
    bool ended = false;                  // sink: close it when all is written
    std::size_t room = ~std::size_t{0};  // source: may be sent
  };
  void read_stream();
  void write_stream();
  void read_source(End& end);
  void write_sink(End& end);
  void on_frame(const Frame& frame);
  bool is_full() const;

  int in_, out_;
  FrameReader reader_;
  OnFrame other_;
  std::string to_send_;
  std::vector<End> ends_;
};

}  // namespace herald::launch
