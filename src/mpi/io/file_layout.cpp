// SPDX-License-Identifier: BSD-3-Clause
// A datatype as it lies in a file: the constructors of the datatype are applied again, from predefined types
// of other sizes. Displacements in bytes stay as the program gave them.
#include <vector>

#include "mpi/io/datarep.hpp"
#include "mpi/type/datatype.hpp"
#include "type/build.hpp"
#include "type/pack.hpp"

namespace herald::mpi {
namespace {

using type::Ints;
using type::LayoutRef;

class Rebuilder {
 public:
  explicit Rebuilder(const Datarep& datarep) noexcept : datarep_(datarep) {}

  LayoutRef rebuild(const Contents::Ingredient& type) noexcept {
    if (type.predefined != nullptr) return element(*type.predefined);
    return type.contents != nullptr ? derived(*type.contents) : type.layout;
  }

  LayoutRef element(Datatype& type) noexcept {
    std::int64_t bytes = type.layout->size();
    if (datarep_.kind == Datarep::Kind::external32) bytes = type::external32_size(*type.layout, 1);
    if (datarep_.kind == Datarep::Kind::user && datarep_.extent != nullptr) {
      MPI_Aint extent = 0;
      if (datarep_.extent(handle_of(&type), &extent, datarep_.extra) != MPI_SUCCESS || extent < 0) return {};
      bytes = extent;
    }
    return made(
        [&](LayoutRef& out) { return type::contiguous(bytes, type::basic_layout(type::Basic::byte), out); });
  }

 private:
  template <class Make>
  LayoutRef made(Make make) noexcept {
    LayoutRef out;
    return make(out) == Status::ok ? out : LayoutRef{};
  }

  // The arguments of a constructor in the order in which it recorded them.
  class Arguments {
   public:
    explicit Arguments(const Contents& contents) noexcept : from_(contents) {}
    std::int64_t count() noexcept { return from_.large ? from_.counts[counts_++] : integer(); }
    std::int64_t integer() noexcept { return from_.integers[integers_++]; }
    std::int64_t address() noexcept {
      return from_.large ? from_.counts[counts_++] : from_.addresses[addresses_++];
    }
    std::vector<std::int64_t> list(std::int64_t length, std::int64_t (Arguments::*next)()) noexcept {
      std::vector<std::int64_t> out;
      for (std::int64_t i = 0; i < length; ++i) out.push_back((this->*next)());
      return out;
    }

   private:
    const Contents& from_;
    std::size_t counts_ = 0, integers_ = 0, addresses_ = 0;
  };

  LayoutRef derived(const Contents& contents) noexcept {
    std::vector<LayoutRef> items;
    for (const Contents::Ingredient& one : contents.ingredients) {
      items.push_back(rebuild(one));
      if (!items.back()) return {};
    }
    Arguments args(contents);
    return made([&](LayoutRef& out) { return build(contents.combiner, args, items, out); });
  }

  static Status build(int combiner, Arguments& args, const std::vector<LayoutRef>& items,
                      LayoutRef& out) noexcept {
    if (combiner == MPI_COMBINER_STRUCT) return structure(args, items, out);
    if (items.empty()) return Status::unsupported;
    const type::Layout& item = *items[0];
    switch (combiner) {
      case MPI_COMBINER_DUP: out = items[0]; return Status::ok;
      case MPI_COMBINER_CONTIGUOUS: return type::contiguous(args.count(), item, out);
      case MPI_COMBINER_VECTOR: {
        const auto a = args.list(3, &Arguments::count);
        return type::vector(a[0], a[1], a[2], item, out);
      }
      case MPI_COMBINER_HVECTOR: {
        const auto a = args.list(2, &Arguments::count);
        return type::hvector(a[0], a[1], args.address(), item, out);
      }
      case MPI_COMBINER_INDEXED:
      case MPI_COMBINER_HINDEXED: return indexed(combiner, args, item, out);
      case MPI_COMBINER_INDEXED_BLOCK: {
        const auto a = args.list(2, &Arguments::count);
        return type::indexed_block(a[1], args.list(a[0], &Arguments::count), item, out);
      }
      case MPI_COMBINER_HINDEXED_BLOCK: {
        const auto a = args.list(2, &Arguments::count);
        return type::hindexed_block(a[1], args.list(a[0], &Arguments::address), item, out);
      }
      case MPI_COMBINER_RESIZED: {
        const auto a = args.list(2, &Arguments::address);
        return type::resized(item, a[0], a[1], out);
      }
      case MPI_COMBINER_SUBARRAY: return subarray(args, item, out);
      case MPI_COMBINER_DARRAY: return darray(args, item, out);
      default: return Status::unsupported;
    }
  }

  static Status structure(Arguments& args, const std::vector<LayoutRef>& items, LayoutRef& out) noexcept {
    const std::int64_t count = args.count();
    const auto blocks = args.list(count, &Arguments::count), at = args.list(count, &Arguments::address);
    std::vector<const type::Layout*> layouts;
    for (const LayoutRef& item : items) layouts.push_back(item.get());
    return type::structure(blocks, at, layouts, out);
  }

  static Status indexed(int combiner, Arguments& args, const type::Layout& item, LayoutRef& out) noexcept {
    const std::int64_t count = args.count();
    const auto blocks = args.list(count, &Arguments::count);
    if (combiner == MPI_COMBINER_INDEXED)
      return type::indexed(blocks, args.list(count, &Arguments::count), item, out);
    return type::hindexed(blocks, args.list(count, &Arguments::address), item, out);
  }

  static type::Order order_of(std::int64_t order) noexcept {
    return order == MPI_ORDER_C ? type::Order::c : type::Order::fortran;
  }

  static Status subarray(Arguments& args, const type::Layout& item, LayoutRef& out) noexcept {
    const std::int64_t dimensions = args.integer();
    const auto sizes = args.list(dimensions, &Arguments::count),
               subsizes = args.list(dimensions, &Arguments::count),
               starts = args.list(dimensions, &Arguments::count);
    return type::subarray(sizes, subsizes, starts, order_of(args.integer()), item, out);
  }

  static Status darray(Arguments& args, const type::Layout& item, LayoutRef& out) noexcept {
    type::Darray shape;
    shape.ranks = args.integer();
    shape.rank = args.integer();
    const std::int64_t dimensions = args.integer();
    const auto sizes = args.list(dimensions, &Arguments::count),
               kinds = args.list(dimensions, &Arguments::integer);
    auto dargs = args.list(dimensions, &Arguments::integer);
    const auto procs = args.list(dimensions, &Arguments::integer);
    std::vector<type::Distribution> distributions;
    for (const std::int64_t kind : kinds)
      distributions.push_back(kind == MPI_DISTRIBUTE_BLOCK    ? type::Distribution::block
                              : kind == MPI_DISTRIBUTE_CYCLIC ? type::Distribution::cyclic
                                                              : type::Distribution::none);
    for (std::int64_t& darg : dargs)
      if (darg == MPI_DISTRIBUTE_DFLT_DARG) darg = type::kDefaultDarg;
    shape.order = order_of(args.integer());
    shape.sizes = sizes;
    shape.distributions = distributions;
    shape.dargs = dargs;
    shape.procs = procs;
    return type::darray(shape, item, out);
  }

  const Datarep& datarep_;
};

}  // namespace

type::LayoutRef file_layout(const Datarep& datarep, const Datatype& datatype) noexcept {
  if (datarep.is_native()) return datatype.layout;
  // Elements that have the same size in the file leave all displacements as they are.
  if (datarep.kind == Datarep::Kind::external32 &&
      type::external32_size(*datatype.layout, 1) == datatype.layout->size())
    return datatype.layout;
  Contents whole(MPI_COMBINER_DUP);
  whole.add(datatype);
  return Rebuilder(datarep).rebuild(whole.ingredients[0]);
}

}  // namespace herald::mpi
