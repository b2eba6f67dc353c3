// SPDX-License-Identifier: BSD-3-Clause
// mpi/dyn/channel.hpp: the connection between the roots of two groups that are about to become one
// inter-communicator.
//
//   connecting root                       accepting root
//     greeting, nonce, purpose     ---->
//                                  <----   greeting, nonce, proof of the port's secret
//     proof                        ---->                                             both are sure now
//     frames: length, tag, text    <--->
//
// The secret itself does not cross the network: proofs, tags of frames and the secret of the two groups are
// derived from it and from both nonces. A connection without a proof in time is closed and counted.
#pragma once
#include <memory>
#include <string>

#include "base/instant.hpp"
#include "mpi/comm/introduction.hpp"
#include "path/stream/stream.hpp"
#include "wire/cipher.hpp"
#include "wire/datagram.hpp"

namespace herald::mpi {

enum class Purpose : std::uint8_t { connect = 1, spawn_failed = 2 };

class StreamChannel final : public Channel {
 public:
  enum class Side : std::uint8_t { connecting, accepting };
  enum class State : std::uint8_t { greeting, proving, open, refused, failed };
  StreamChannel(std::unique_ptr<path::Stream> stream, Side side, const wire::JobKey& secret,
                Purpose purpose = Purpose::connect) noexcept;

  // Advances the greeting. `refused`: the other side does not know the secret.
  State turn() noexcept;
  State state() const noexcept { return state_; }
  bool is_connecting() const noexcept { return stream_->is_connecting(); }
  Purpose purpose() const noexcept { return purpose_; }
  const char* error() const noexcept { return stream_->error(); }
  Instant since() const noexcept { return since_; }

  bool exchange(const std::string& out, std::string& in, std::string& why) override;
  // Polls for a message; false: it has not come. has_failed(): none will come.
  bool receive(std::string& text) noexcept;
  void send(const std::string& text);
  bool has_failed() const noexcept { return state_ == State::failed || state_ == State::refused; }
  wire::SecretKey secret() const noexcept override;

 private:
  using Nonce = std::array<std::uint64_t, 2>;
  std::uint64_t derive(const char* label, std::uint64_t number) const noexcept;
  std::uint64_t tag(Side sender, std::uint64_t number, std::string_view text) const noexcept;
  bool take(void* to, std::size_t bytes) noexcept;
  void greet() noexcept;
  void on_greeting() noexcept;
  void on_proof() noexcept;

  const std::unique_ptr<path::Stream> stream_;
  const Side side_;
  const wire::JobKey secret_;
  Purpose purpose_;
  State state_ = State::greeting;
  Nonce own_, other_{};
  const Instant since_;
  std::uint64_t sent_ = 0, received_ = 0;  // frames
};

}  // namespace herald::mpi
