// SPDX-License-Identifier: BSD-3-Clause
// rel/tag_queue.hpp: datagrams of one batch that have no tag yet: several tags cost little more than one.
// Only datagrams without ack part. Their bytes stay in place until flush().
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/tags.hpp"

namespace herald::rel {

class TagQueue {
 public:
  void add(const wire::Seal& seal, std::byte* head, std::uint32_t to, std::uint32_t body_crc,
           std::uint32_t upper) noexcept {
    if (count_ == asked_.size() || seal_ != &seal) flush();
    seal_ = &seal;
    asked_[count_] = {head, to, body_crc, upper};
    at_[count_++] = head;
  }
  void flush() noexcept {
    if (count_ == 1)
      wire::seal(*seal_, asked_[0].to, asked_[0].body_crc, {at_[0], sizeof(wire::DatagramHead)},
                 {asked_[0].upper, 0});
    if (count_ > 1) {
      const wire::Tags tags = wire::tags_of(*seal_, {asked_.data(), count_});
      for (std::size_t i = 0; i < count_; ++i) wire::set_tag(at_[i], tags[i]);
    }
    count_ = 0;
  }

 private:
  const wire::Seal* seal_ = nullptr;  // of all in the queue
  std::array<wire::TagAsked, wire::kTagsAtOnce> asked_;
  std::array<std::byte*, wire::kTagsAtOnce> at_{};
  std::size_t count_ = 0;
};

}  // namespace herald::rel
