// SPDX-License-Identifier: BSD-3-Clause
// Packing and unpacking. Packed data is the plain bytes in the order of the type map, without a header, so
// that pieces packed one after the other can be received as MPI_PACKED or by any matching datatype.
#include <cstring>

#include "calls.hpp"
#include "mpi/core/check.hpp"
#include "mpi/type/datatype.hpp"
#include "type/pack.hpp"

namespace herald::mpi {
namespace {

// Checks the datatype's side: the count, that the memory can be addressed, and that the buffer is not null.
bool good_items(Call& call, const void* buffer, MPI_Count count, const Datatype& datatype, Arg buffer_arg,
                Arg count_arg) noexcept {
  check_count(call, count, count_arg);
  if (call.failed()) return false;
  if (!datatype.layout->fits(count))
    return call.fail(MPI_ERR_COUNT, "argument %d (%s): %lld elements span more than 64 bits can address",
                     count_arg.number, count_arg.name, static_cast<long long>(count));
  check_buffer(call, buffer, count, &datatype, buffer_arg);
  return !call.failed();
}

// Checks the packed side: `bytes` must lie between position and size.
bool good_room(Call& call, const void* packed, MPI_Count size, MPI_Count position, std::int64_t bytes,
               Arg packed_arg, Arg position_arg) noexcept {
  if (position < 0 || position > size)
    return call.fail(MPI_ERR_ARG, "argument %d (%s) is %lld, outside of a buffer of %lld bytes",
                     position_arg.number, position_arg.name, static_cast<long long>(position),
                     static_cast<long long>(size));
  if (bytes > size - position)
    return call.fail(MPI_ERR_TRUNCATE,
                     "%lld bytes are needed at position %lld of argument %d (%s), %lld are left",
                     static_cast<long long>(bytes), static_cast<long long>(position), packed_arg.number,
                     packed_arg.name, static_cast<long long>(size - position));
  if (packed == nullptr && bytes > 0)
    return call.fail(MPI_ERR_BUFFER, "argument %d (%s) is a null pointer; give the buffer's address",
                     packed_arg.number, packed_arg.name);
  return true;
}

bool is_external32(Call& call, const char* datarep) noexcept {
  if (std::strcmp(datarep, "external32") == 0) return true;
  return call.fail(MPI_ERR_UNSUPPORTED_DATAREP,
                   "argument 1 (datarep) is \"%.60s\"; only \"external32\" is known", datarep);
}

// The external32 size of `count` items, or -1 with the call failed.
std::int64_t external_size(Call& call, const Datatype& datatype, MPI_Count count) noexcept {
  const std::int64_t size = type::external32_size(*datatype.layout, count);
  if (size < 0) (void)call.fail(MPI_ERR_COUNT, "the external32 size does not fit 64 bits");
  return size;
}

}  // namespace

namespace api {

int pack_size(Call& call, MPI_Count incount, Datatype* datatype, Comm*, MPI_Count* size) {
  if (!datatype->layout->fits(incount))
    return call.fail(MPI_ERR_COUNT, "argument 1 (incount): the packed size does not fit 64 bits");
  *size = incount * datatype->layout->size();
  return MPI_SUCCESS;
}

int pack(Call& call, const void* inbuf, MPI_Count incount, Datatype* datatype, void* outbuf,
         MPI_Count outsize, MPI_Count* position, Comm*) {
  if (!good_items(call, inbuf, incount, *datatype, {1, "inbuf"}, {2, "incount"})) return call.error();
  const std::int64_t bytes = incount * datatype->layout->size();
  if (!good_room(call, outbuf, outsize, *position, bytes, {4, "outbuf"}, {6, "position"}))
    return call.error();
  if (bytes != 0) type::pack(*datatype->layout, inbuf, incount, static_cast<char*>(outbuf) + *position);
  *position += bytes;
  return MPI_SUCCESS;
}

int unpack(Call& call, const void* inbuf, MPI_Count insize, MPI_Count* position, void* outbuf,
           MPI_Count outcount, Datatype* datatype, Comm*) {
  if (!good_items(call, outbuf, outcount, *datatype, {4, "outbuf"}, {5, "outcount"})) return call.error();
  const std::int64_t bytes = outcount * datatype->layout->size();
  if (!good_room(call, inbuf, insize, *position, bytes, {1, "inbuf"}, {3, "position"})) return call.error();
  if (bytes != 0)
    type::unpack(*datatype->layout, outbuf, outcount, static_cast<const char*>(inbuf) + *position);
  *position += bytes;
  return MPI_SUCCESS;
}

int pack_external_size(Call& call, const char* datarep, MPI_Count incount, Datatype* datatype,
                       MPI_Count* size) {
  if (!is_external32(call, datarep)) return call.error();
  check_count(call, incount, {2, "incount"});
  if (call.failed()) return call.error();
  const std::int64_t bytes = external_size(call, *datatype, incount);
  if (bytes < 0) return call.error();
  *size = bytes;
  return MPI_SUCCESS;
}

int pack_external(Call& call, const char* datarep, const void* inbuf, MPI_Count incount, Datatype* datatype,
                  void* outbuf, MPI_Count outsize, MPI_Count* position) {
  if (!is_external32(call, datarep)) return call.error();
  if (!good_items(call, inbuf, incount, *datatype, {2, "inbuf"}, {3, "incount"})) return call.error();
  const std::int64_t bytes = external_size(call, *datatype, incount);
  if (bytes < 0) return call.error();
  if (!good_room(call, outbuf, outsize, *position, bytes, {5, "outbuf"}, {7, "position"}))
    return call.error();
  if (bytes != 0 && type::pack_external32(*datatype->layout, inbuf, incount,
                                          static_cast<char*>(outbuf) + *position) != Status::ok)
    return call.fail(MPI_ERR_CONVERSION,
                     "a long or wchar_t in argument 2 (inbuf) does not fit external32 (4 and 2 bytes)");
  *position += bytes;
  return MPI_SUCCESS;
}

int unpack_external(Call& call, const char* datarep, const void* inbuf, MPI_Count insize, MPI_Count* position,
                    void* outbuf, MPI_Count outcount, Datatype* datatype) {
  if (!is_external32(call, datarep)) return call.error();
  if (!good_items(call, outbuf, outcount, *datatype, {5, "outbuf"}, {6, "outcount"})) return call.error();
  const std::int64_t bytes = external_size(call, *datatype, outcount);
  if (bytes < 0) return call.error();
  if (!good_room(call, inbuf, insize, *position, bytes, {2, "inbuf"}, {4, "position"})) return call.error();
  if (bytes != 0) {
    type::unpack_external32(*datatype->layout, outbuf, outcount, static_cast<const char*>(inbuf) + *position);
  }
  *position += bytes;
  return MPI_SUCCESS;
}

}  // namespace api
}  // namespace herald::mpi
