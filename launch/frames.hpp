// SPDX-License-Identifier: BSD-3-Clause
// launch/frames.hpp: the byte stream between mpiexec and the proxy of a host: channels over one connection.
// Pure. A frame is a channel, four bytes of length (little-endian) and the payload; an empty payload ends the
// channel. The proxy's side of the stream begins with kMarker, because a login shell may print something.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace herald::launch {

inline constexpr std::string_view kMarker = "\n=herald-proxy-1=\n";
inline constexpr std::size_t kMostPayload = 64 * 1024;

enum class Channel : char {
  input = 'I',   // standard input of the job
  output = 'O',  // its standard output
  error = 'E',   // its standard error
  pmi = 'P',     // the description of the job, then lines of PMI
  signal = 'S',  // to the proxy: the number of a signal for the job
  taken = 'T',   // from the proxy: bytes of input that were written
  code = 'X',    // from the proxy: the exit code, last
  alive = 'A',   // no news: the other side is there
};

struct Frame {
  Channel channel;
  std::string payload;
};

// Cuts a payload that is too long into several frames.
void append_frame(std::string& out, Channel channel, std::string_view payload);

class FrameReader {
 public:
  explicit FrameReader(bool after_marker) : found_(!after_marker) {}
  void add(std::string_view bytes);
  std::optional<Frame> next();
  bool found_marker() const { return found_; }
  bool is_broken() const { return broken_; }  // a length that no peer sends
  const std::string& noise() const { return found_ ? noise_ : text_; }

 private:
  std::string text_, noise_;
  bool found_, broken_ = false;
};

}  // namespace herald::launch
