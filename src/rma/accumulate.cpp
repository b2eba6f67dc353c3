// SPDX-License-Identifier: BSD-3-Clause
#include "rma/accumulate.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace herald::rma {
namespace {

constexpr std::uint64_t kPieceBytes = 65536;  // others wait for the guard no longer than this takes
constexpr std::size_t kRuns = 64;

using Element = std::array<std::byte, 64>;

bool is_aligned(const void* address, std::size_t align) noexcept {
  return reinterpret_cast<std::uintptr_t>(address) % align == 0;
}

bool is_power(std::size_t bytes) noexcept { return bytes != 0 && (bytes & (bytes - 1)) == 0; }

// An element or pair in memory without alignment.
struct Part {
  std::size_t at, bytes;
};

class Reducer {
 public:
  Reducer(op::Kind kind, type::Basic basic, const std::byte* in) noexcept
      : row_(type::row_of(basic)), kernel_(op::find(kind, basic)), in_(in) {
    if (row_.klass != type::Class::pair) return;
    const type::BasicRow &value = type::row_of(row_.value), &index = type::row_of(row_.index);
    const auto value_bytes = static_cast<std::size_t>(value.size), align = std::size_t{index.align};
    value_ = {0, value_bytes};
    index_ = {(value_bytes + align - 1) / align * align, static_cast<std::size_t>(index.size)};
  }

  void run(std::byte* at, std::size_t bytes) noexcept {
    if (row_.klass == type::Class::pair) return run_pairs(at, bytes);
    const auto size = static_cast<std::size_t>(row_.size), count = bytes / size;
    if (is_aligned(at, row_.align) && is_aligned(in_, row_.align)) {
      kernel_(in_, at, count);
      in_ += bytes;
      return;
    }
    for (std::size_t i = 0; i < count; ++i, at += size, in_ += size) {
      std::memcpy(from_.data(), in_, size);
      std::memcpy(to_.data(), at, size);
      kernel_(from_.data(), to_.data(), 1);
      std::memcpy(at, to_.data(), size);
    }
  }

 private:
  // A pair may lie in two runs, with a gap between value and index.
  void run_pairs(std::byte* at, std::size_t bytes) noexcept {
    while (bytes != 0) {
      if (seen_ == 0) start_ = at;
      const std::size_t part = std::min(bytes, static_cast<std::size_t>(row_.size) - seen_);
      seen_ += part;
      at += part;
      bytes -= part;
      if (seen_ == static_cast<std::size_t>(row_.size)) reduce_pair();
    }
  }
  void reduce_pair() noexcept {
    std::memcpy(from_.data(), in_, value_.bytes);
    std::memcpy(from_.data() + index_.at, in_ + value_.bytes, index_.bytes);
    for (const Part& part : {value_, index_}) std::memcpy(to_.data() + part.at, start_ + part.at, part.bytes);
    kernel_(from_.data(), to_.data(), 1);
    for (const Part& part : {value_, index_}) std::memcpy(start_ + part.at, to_.data() + part.at, part.bytes);
    in_ += row_.size;
    seen_ = 0;
  }

  const type::BasicRow& row_;
  op::Kernel kernel_;
  const std::byte* in_;
  Part value_{}, index_{};
  std::byte* start_ = nullptr;  // of the current pair
  std::size_t seen_ = 0;        // bytes of it that the runs so far had
  alignas(64) Element from_{};
  alignas(64) Element to_{};
};

// An element of a size that the processor updates atomically.
template <class Unsigned>
class Word {
 public:
  static constexpr std::size_t kBytes = sizeof(Unsigned);

  Word(op::Kind kind, type::Basic basic) noexcept
      : kind_(kind),
        kernel_(op::find(kind, basic)),
        adds_(kind == op::Kind::sum && is_integer(type::row_of(basic).klass)) {}

  void update(std::byte* at, std::size_t count, const std::byte* in, std::byte* before) const noexcept {
    for (std::size_t i = 0; i < count; ++i, at += kBytes) {
      Unsigned value{};
      if (in != nullptr) std::memcpy(&value, in + i * kBytes, kBytes);
      const Unsigned old = update_one(reinterpret_cast<Shared*>(at), value);
      if (before != nullptr) std::memcpy(before + i * kBytes, &old, kBytes);
    }
  }
  static void compare_and_swap(std::byte* at, const void* value, const void* compared,
                               void* before) noexcept {
    Unsigned next{}, old{};
    std::memcpy(&next, value, kBytes);
    std::memcpy(&old, compared, kBytes);
    (void)__atomic_compare_exchange_n(reinterpret_cast<Shared*>(at), &old, next, false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST);
    std::memcpy(before, &old, kBytes);
  }

 private:
  using Shared [[gnu::may_alias]] = Unsigned;
  static bool is_integer(type::Class klass) noexcept {
    return klass == type::Class::c_integer || klass == type::Class::f_integer ||
           klass == type::Class::shared_integer;
  }
  Unsigned update_one(Shared* at, Unsigned value) const noexcept {
    if (kind_ == op::Kind::no_op) return __atomic_load_n(at, __ATOMIC_SEQ_CST);
    if (kind_ == op::Kind::replace) return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);
    if (adds_) return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);
    Unsigned old = __atomic_load_n(at, __ATOMIC_SEQ_CST);
    for (;;) {
      Unsigned next = old;
      kernel_(&value, &next, 1);
      if (__atomic_compare_exchange_n(at, &old, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return old;
    }
  }

  op::Kind kind_;
  op::Kernel kernel_;
  bool adds_;
};

// Calls `use` with the kind of word that has so many bytes. False: there is none.
template <class Use>
bool with_word(std::size_t bytes, Use use) noexcept {
  switch (bytes) {
    case 1: use(std::uint8_t{}); return true;
    case 2: use(std::uint16_t{}); return true;
    case 4: use(std::uint32_t{}); return true;
    case 8: use(std::uint64_t{}); return true;
    default: return false;
  }
}

void accumulate_run(const Guard& guard, const type::Run& run, op::Kind kind, type::Basic basic,
                    const std::byte* in, std::byte* before) noexcept {
  auto* const at = static_cast<std::byte*>(run.data);
  if (is_word(basic, at)) {
    const auto size = static_cast<std::size_t>(type::row_of(basic).size);
    return update_words(kind, basic, at, run.bytes / size, in, before);
  }
  const HoldGuard hold(guard);
  if (before != nullptr) std::memcpy(before, at, run.bytes);
  if (kind != op::Kind::no_op) Reducer(kind, basic, in).run(at, run.bytes);
}

// Memory that several processes update: element by element.
void accumulate_shared(const Guard& guard, type::Cursor target, op::Kind kind, type::Basic basic,
                       const std::byte* in, std::byte* before) noexcept {
  std::array<type::Run, kRuns> runs;
  while (const std::size_t count = target.next_runs(runs, SIZE_MAX))
    for (std::size_t i = 0; i < count; ++i) {
      accumulate_run(guard, runs[i], kind, basic, in, before);
      if (in != nullptr) in += runs[i].bytes;
      if (before != nullptr) before += runs[i].bytes;
    }
}

}  // namespace

bool is_word(type::Basic basic, const void* at) noexcept {
  const type::BasicRow& row = type::row_of(basic);
  const auto size = static_cast<std::size_t>(row.size);
  return row.klass != type::Class::pair && size <= sizeof(std::uint64_t) && size != 0 && is_power(size) &&
         is_aligned(at, size);
}

void update_words(op::Kind kind, type::Basic basic, std::byte* at, std::size_t count, const std::byte* in,
                  std::byte* before) noexcept {
  (void)with_word(static_cast<std::size_t>(type::row_of(basic).size), [&]<class Unsigned>(Unsigned) {
    Word<Unsigned>(kind, basic).update(at, count, in, before);
  });
}

void swap_word(std::byte* at, std::size_t bytes, const void* value, const void* compared,
               void* before) noexcept {
  (void)with_word(bytes, [&]<class Unsigned>(Unsigned) {
    Word<Unsigned>::compare_and_swap(at, value, compared, before);
  });
}

bool may_accumulate(op::Kind kind, type::Basic basic) noexcept {
  return basic != type::Basic::none && op::find(kind, basic) != nullptr;
}

void accumulate(const Guard& guard, type::Cursor target, op::Kind kind, type::Basic basic,
                const std::byte* in, std::byte* before) noexcept {
  const type::BasicRow& row = type::row_of(basic);
  const auto size = static_cast<std::uint64_t>(row.size);
  if (guard.lock != nullptr && row.klass != type::Class::pair && size <= sizeof(std::uint64_t))
    return accumulate_shared(guard, target, kind, basic, in, before);
  const std::uint64_t piece = kPieceBytes / size * size, total = target.total();
  for (std::uint64_t done = 0; done < total; done += piece) {
    type::Cursor part = target;
    part.narrow(done, piece);
    const HoldGuard hold(guard);
    if (before != nullptr) {
      part.pack(before + done, static_cast<std::size_t>(part.total()));
      part.seek(0);
    }
    if (kind == op::Kind::no_op) continue;
    Reducer reducer(kind, basic, in + done);
    std::array<type::Run, kRuns> runs;
    while (const std::size_t count = part.next_runs(runs, SIZE_MAX))
      for (std::size_t i = 0; i < count; ++i)
        reducer.run(static_cast<std::byte*>(runs[i].data), runs[i].bytes);
  }
}

void compare_and_swap(const Guard& guard, void* target, std::size_t bytes, const void* value,
                      const void* compared, void* before) noexcept {
  auto* const at = static_cast<std::byte*>(target);
  if (guard.lock != nullptr && is_power(bytes) && bytes <= sizeof(std::uint64_t) && is_aligned(at, bytes))
    return swap_word(at, bytes, value, compared, before);
  const HoldGuard hold(guard);
  std::memcpy(before, target, bytes);
  if (std::memcmp(before, compared, bytes) == 0) std::memcpy(target, value, bytes);
}

}  // namespace herald::rma
