// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/io/access.hpp"

#include <limits>
#include <utility>

#include "mpi/io/atomic_lock.hpp"
#include "type/pack.hpp"

namespace herald::mpi {
namespace {

Failure wrong(int error_class, std::string text) noexcept { return {error_class, std::move(text)}; }

}  // namespace

Failure Access::check_arguments() noexcept {
  const Transfer& t = transfer_;
  const int first = t.pointer == Pointer::explicit_offset ? 3 : 2;
  const auto argument = [&](int after, const char* name) {
    return "argument " + std::to_string(first + after) + " (" + name + ") ";
  };
  if (t.count < 0)
    return wrong(MPI_ERR_COUNT,
                 argument(1, "count") + "is " + std::to_string(t.count) + "; it must not be negative");
  if (t.type == nullptr) return wrong(MPI_ERR_TYPE, argument(2, "datatype") + "is not a datatype");
  if (!t.type->committed)
    return wrong(MPI_ERR_TYPE, argument(2, "datatype") + "is not committed; call MPI_Type_commit first");
  const type::Layout& layout = *t.type->layout;
  if (!layout.fits(t.count))
    return wrong(MPI_ERR_COUNT, argument(1, "count") + "gives more bytes than 64 bits can count");
  if (t.buffer == nullptr && t.count > 0 && layout.size() > 0 && layout.true_lb() >= 0 &&
      layout.true_lb() < 4096)
    return wrong(MPI_ERR_BUFFER, argument(0, "buf") + "is a null pointer, but there is data to move");
  if (t.pointer == Pointer::explicit_offset && t.offset < 0)
    return wrong(MPI_ERR_ARG,
                 "argument 2 (offset) is " + std::to_string(t.offset) + "; it must not be negative");
  return {};
}

Failure Access::check_mode() noexcept {
  if (transfer_.writes && !state_.can_write())
    return wrong(MPI_ERR_READ_ONLY, state_.name + " is open for reading only; open it with MPI_MODE_RDWR");
  if (!transfer_.writes && !state_.can_read())
    return wrong(MPI_ERR_ACCESS, state_.name + " is open for writing only; open it with MPI_MODE_RDWR");
  if (transfer_.pointer != Pointer::shared) return check_individual(state_);
  return {};
}

bool Access::converts() const noexcept {
  const Datarep& datarep = *state_.datarep;
  return !datarep.is_native() && datarep.converts(transfer_.writes);
}

Failure Access::prepare() noexcept {
  if (Failure bad = check_arguments()) return bad;
  if (Failure bad = check_mode()) return bad;
  const Datatype& type = *transfer_.type;
  item_bytes_ = type.layout->size();
  if (converts()) {
    const type::LayoutRef layout = file_layout(*state_.datarep, type);
    if (!layout || !layout->fits(transfer_.count))
      return wrong(MPI_ERR_CONVERSION, "the size of the datatype in representation \"" +
                                           state_.datarep->name + "\" is not known");
    item_bytes_ = layout->size();
  }
  bytes_ = item_bytes_ * transfer_.count;
  if (bytes_ % state_.view.etype_bytes() != 0)
    return wrong(MPI_ERR_IO, "the access has " + std::to_string(bytes_) +
                                 " bytes, which is no whole number of etypes of " +
                                 std::to_string(state_.view.etype_bytes()) + " bytes");
  if (bytes_ != 0 && state_.view.empty())
    return wrong(MPI_ERR_IO, "the filetype of the view has no data; set another view");
  return {};
}

Failure Access::take_position() noexcept {
  MPI_Offset at = transfer_.offset;
  if (transfer_.pointer == Pointer::individual) at = state_.position;
  if (transfer_.pointer == Pointer::shared)
    if (Failure failure = fetch_add_shared(state_, etypes(), at)) return failure;
  if (at > (state_.view.most_bytes() - bytes_) / state_.view.etype_bytes())
    return wrong(MPI_ERR_ARG, "the access ends beyond the largest file offset");
  set_position(at);
  if (transfer_.pointer == Pointer::individual) state_.position += etypes();
  return {};
}

io::Sieve Access::sieve() const noexcept {
  const io::Hints& hints = state_.hints;
  const bool writes = transfer_.writes;
  const io::Choice choice = writes ? hints.ds_write : hints.ds_read;
  const std::int64_t buffer = writes ? hints.ind_wr_buffer_size : hints.ind_rd_buffer_size;
  // The gaps that sieving writes back must not change meanwhile.
  const bool safe = !writes || (state_.can_read() && state_.alone);
  if (choice == io::Choice::disable || !safe || !state_.view.ordered()) return {buffer, -1};
  return {buffer, choice == io::Choice::enable ? io::kAnyGap : io::kAutomaticGap};
}

Failure Access::begin() noexcept {
  begun_ = true;
  if (!converts()) {
    memory_ = type::Cursor(transfer_.type->layout, transfer_.buffer, transfer_.count);
    return {};
  }
  converted_.resize(static_cast<std::size_t>(bytes_));
  memory_ = type::Cursor::bytes(converted_.data(), converted_.size());
  return transfer_.writes ? convert_out() : Failure{};
}

void Access::clip(std::int64_t bytes) noexcept { memory_.narrow(0, static_cast<std::uint64_t>(bytes)); }

TransferResult Access::end(std::int64_t file_bytes) noexcept {
  const std::int64_t items = item_bytes_ == 0 ? transfer_.count : file_bytes / item_bytes_;
  if (!converts()) return {file_bytes, {}};
  TransferResult result{items * transfer_.type->layout->size(), {}};
  if (!transfer_.writes) result.failure = convert_in(items);
  return result;
}

TransferResult Access::run() noexcept {
  AtomicLock lock(state_, transfer_.writes);
  wait_until([&] { return lock.advance(); });
  return run_with(lock);
}

TransferResult Access::run_with(AtomicLock& lock) noexcept {
  if (lock.failure()) return {0, lock.failure()};
  if (!begun_)
    if (Failure failure = begin()) return {0, failure};
  const io::Outcome outcome = transfer();
  lock.release();
  return conclude(outcome);
}

bool Access::suits_thread() const noexcept {
  return bytes_ >= kLeastForThread && !state_.atomic && !converts();
}

io::Outcome Access::transfer() noexcept {
  return transfer_.writes ? io::write_view(state_.storage, state_.view, position_, memory_, sieve())
                          : io::read_view(state_.storage, state_.view, position_, memory_, sieve());
}

TransferResult Access::conclude(const io::Outcome& outcome) noexcept {
  TransferResult result = end(outcome.bytes);
  if (outcome.error != 0)
    result.failure = failure_of(outcome.error, transfer_.writes ? "write to" : "read from", state_.name);
  return result;
}

Failure Access::convert_out() noexcept {
  const Datarep& datarep = *state_.datarep;
  const type::Layout& layout = *transfer_.type->layout;
  if (datarep.kind == Datarep::Kind::external32) {
    if (bytes_ != 0 &&
        type::pack_external32(layout, transfer_.buffer, transfer_.count, converted_.data()) != Status::ok)
      return wrong(MPI_ERR_CONVERSION, "a long or wchar_t does not fit external32 (4 and 2 bytes)");
    return {};
  }
  const MPI_Datatype type = handle_of(transfer_.type);
  int code = MPI_SUCCESS;
  if (datarep.large)
    code = reinterpret_cast<MPI_Datarep_conversion_function_c*>(datarep.write_conversion)(
        transfer_.buffer, type, transfer_.count, converted_.data(), 0, datarep.extra);
  else
    code = reinterpret_cast<MPI_Datarep_conversion_function*>(datarep.write_conversion)(
        transfer_.buffer, type, static_cast<int>(transfer_.count), converted_.data(), 0, datarep.extra);
  if (code == MPI_SUCCESS) return {};
  return wrong(MPI_ERR_CONVERSION, "the write conversion of \"" + datarep.name + "\" failed");
}

Failure Access::convert_in(std::int64_t items) noexcept {
  const Datarep& datarep = *state_.datarep;
  if (items == 0) return {};
  if (datarep.kind == Datarep::Kind::external32) {
    type::unpack_external32(*transfer_.type->layout, transfer_.buffer, items, converted_.data());
    return {};
  }
  const MPI_Datatype type = handle_of(transfer_.type);
  int code = MPI_SUCCESS;
  if (datarep.large)
    code = reinterpret_cast<MPI_Datarep_conversion_function_c*>(datarep.read_conversion)(
        transfer_.buffer, type, items, converted_.data(), 0, datarep.extra);
  else
    code = reinterpret_cast<MPI_Datarep_conversion_function*>(datarep.read_conversion)(
        transfer_.buffer, type, static_cast<int>(items), converted_.data(), 0, datarep.extra);
  if (code == MPI_SUCCESS) return {};
  return wrong(MPI_ERR_CONVERSION, "the read conversion of \"" + datarep.name + "\" failed");
}

TransferResult run_alone(const Transfer& transfer) noexcept {
  Access access(transfer);
  if (Failure failure = access.prepare()) return {0, failure};
  if (Failure failure = access.take_position()) return {0, failure};
  return access.run();
}

}  // namespace herald::mpi
