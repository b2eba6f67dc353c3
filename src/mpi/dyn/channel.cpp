// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/dyn/channel.hpp"

#include <cstring>

#include "engine/clock.hpp"
#include "mpi/core/request.hpp"
#include "path/random.hpp"

namespace herald::mpi {
namespace {

constexpr char kGreeting[16] = "herald-port-1\r\n";
constexpr std::uint32_t kLongestFrame = 64 << 20;

struct Greeting {
  char word[16];
  wire::Le<std::uint64_t> nonce[2];
  wire::Le<std::uint64_t> proof;  // of the accepting side; else the purpose
};
struct FrameHead {
  wire::Le<std::uint32_t> bytes;
  wire::Le<std::uint64_t> tag;
};

template <class T>
std::string_view view_of(const T& value) noexcept {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace

StreamChannel::StreamChannel(std::unique_ptr<path::Stream> stream, Side side, const wire::JobKey& secret,
                             Purpose purpose) noexcept
    : stream_(std::move(stream)),
      side_(side),
      secret_(secret),
      purpose_(purpose),
      own_{path::random_number(), path::random_number()},
      since_(engine::read_clock()) {
  if (side_ == Side::connecting) greet();
}

// The nonce of the connecting side comes first.
std::uint64_t StreamChannel::derive(const char* label, std::uint64_t number) const noexcept {
  const Nonce &first = side_ == Side::connecting ? own_ : other_,
              &second = side_ == Side::connecting ? other_ : own_;
  std::string text(label);
  for (const std::uint64_t word :
       {first[0], first[1], second[0], second[1], number, static_cast<std::uint64_t>(purpose_)}) {
    const wire::Le<std::uint64_t> bytes = word;
    text += view_of(bytes);
  }
  return wire::siphash24(secret_, {reinterpret_cast<const std::byte*>(text.data()), text.size()});
}

std::uint64_t StreamChannel::tag(Side sender, std::uint64_t number, std::string_view text) const noexcept {
  const wire::JobKey key{derive("frame 0", static_cast<std::uint64_t>(sender)), derive("frame 1", number)};
  return wire::siphash24(key, {reinterpret_cast<const std::byte*>(text.data()), text.size()});
}

wire::SecretKey StreamChannel::secret() const noexcept {
  wire::SecretKey key;
  for (std::size_t i = 0; i < key.size(); i += sizeof(std::uint64_t)) {
    const wire::Le<std::uint64_t> word = derive("groups", i);
    std::memcpy(key.data() + i, &word, sizeof word);
  }
  return key;
}

// A borrowed descriptor may carry bytes of the program behind ours.
bool StreamChannel::take(void* to, std::size_t bytes) noexcept {
  std::string& in = stream_->arrived();
  if (in.size() < bytes) stream_->turn(bytes - in.size());
  if (in.size() < bytes) return false;
  std::memcpy(to, in.data(), bytes);
  in.erase(0, bytes);
  return true;
}

void StreamChannel::greet() noexcept {
  Greeting greeting{};
  std::memcpy(greeting.word, kGreeting, sizeof kGreeting);
  greeting.nonce[0] = own_[0];
  greeting.nonce[1] = own_[1];
  greeting.proof = side_ == Side::connecting ? static_cast<std::uint64_t>(purpose_) : derive("accepts", 0);
  stream_->write(view_of(greeting));
}

void StreamChannel::on_greeting() noexcept {
  Greeting came;
  if (!take(&came, sizeof came)) return;
  const std::uint64_t proof = came.proof;
  other_ = {came.nonce[0], came.nonce[1]};
  bool good = std::memcmp(came.word, kGreeting, sizeof kGreeting) == 0;
  if (side_ == Side::accepting) {
    good = good && (proof == 1 || proof == 2);
    purpose_ = proof == 2 ? Purpose::spawn_failed : Purpose::connect;
    if (good) greet();
  } else {
    good = good && proof == derive("accepts", 0);
    const wire::Le<std::uint64_t> ours = derive("connects", 0);
    if (good) stream_->write(view_of(ours));
  }
  state_ = !good ? State::refused : side_ == Side::accepting ? State::proving : State::open;
}

void StreamChannel::on_proof() noexcept {
  wire::Le<std::uint64_t> proof;
  if (!take(&proof, sizeof proof)) return;
  state_ = proof == derive("connects", 0) ? State::open : State::refused;
}

StreamChannel::State StreamChannel::turn() noexcept {
  stream_->turn(0);
  if (state_ == State::greeting) on_greeting();
  if (state_ == State::proving) on_proof();
  if (state_ != State::refused && stream_->has_failed()) state_ = State::failed;
  stream_->turn(0);
  return state_;
}

void StreamChannel::send(const std::string& text) {
  FrameHead head;
  head.bytes = static_cast<std::uint32_t>(text.size());
  head.tag = tag(side_, sent_++, text);
  stream_->write(view_of(head));
  stream_->write(text);
  stream_->turn(0);
}

bool StreamChannel::receive(std::string& text) noexcept {
  std::string& in = stream_->arrived();
  stream_->turn(in.size() < sizeof(FrameHead) ? sizeof(FrameHead) - in.size() : 0);
  if (in.size() >= sizeof(FrameHead)) {
    FrameHead head;
    std::memcpy(&head, in.data(), sizeof head);
    const std::uint32_t bytes = head.bytes;
    const std::size_t whole = sizeof head + bytes;
    if (bytes > kLongestFrame) {
      state_ = State::refused;
      return false;
    }
    if (in.size() < whole) stream_->turn(whole - in.size());
    if (in.size() >= whole) {
      text = in.substr(sizeof head, bytes);
      in.erase(0, whole);
      const Side sender = side_ == Side::connecting ? Side::accepting : Side::connecting;
      if (head.tag == tag(sender, received_++, text)) return true;
      state_ = State::refused;
      return false;
    }
  }
  if (stream_->has_failed()) state_ = State::failed;
  return false;
}

bool StreamChannel::exchange(const std::string& out, std::string& in, std::string& why) {
  send(out);
  const engine::Engine::Polling polling(runtime().engine());
  bool came = false;
  wait_until([&] {
    if (came)
      stream_->turn(0);
    else
      came = receive(in);
    return (came && stream_->is_flushed()) || has_failed() || stream_->has_failed();
  });
  if (!came)
    why = state_ == State::refused ? "the other job sent what this library does not understand"
                                   : std::string("the other job has gone: ") + error();
  return came;
}

}  // namespace herald::mpi
