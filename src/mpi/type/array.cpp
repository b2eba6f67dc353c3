// SPDX-License-Identifier: BSD-3-Clause
// Datatypes of parts of arrays: MPI_Type_create_subarray and MPI_Type_create_darray.
#include "calls.hpp"
#include "mpi/type/datatype.hpp"

namespace herald::mpi {
namespace {

// False, with the call failed, unless MPI_ORDER_C or MPI_ORDER_FORTRAN.
bool read_order(Call& call, int value, Arg arg, type::Order& order) noexcept {
  if (value != MPI_ORDER_C && value != MPI_ORDER_FORTRAN)
    return call.fail(MPI_ERR_ARG, "argument %d (%s) is %d; it must be MPI_ORDER_C or MPI_ORDER_FORTRAN",
                     arg.number, arg.name, value);
  order = value == MPI_ORDER_C ? type::Order::c : type::Order::fortran;
  return true;
}

bool has_dimensions(Call& call, int ndims, Arg arg) noexcept {
  if (ndims > 0) return true;
  return call.fail(MPI_ERR_ARG, "argument %d (%s) is %d; an array has at least one dimension", arg.number,
                   arg.name, ndims);
}

bool inside(Call& call, int ndims, const WideArray& sizes, const WideArray& subsizes,
            const WideArray& starts) noexcept {
  for (std::size_t i = 0; i < static_cast<std::size_t>(ndims); ++i) {
    if (subsizes[i] <= sizes[i] && starts[i] <= sizes[i] - subsizes[i]) continue;
    return call.fail(MPI_ERR_ARG, "dimension %zu: %lld elements from %lld on are not inside an array of %lld",
                     i, static_cast<long long>(subsizes[i]), static_cast<long long>(starts[i]),
                     static_cast<long long>(sizes[i]));
  }
  return true;
}

// One dimension of a darray: what the distribution demands of its block size and its processes.
bool read_distribution(Call& call, std::size_t i, int distrib, std::int64_t size, std::int64_t procs,
                       std::int64_t& darg, type::Distribution& out) noexcept {
  if (darg == MPI_DISTRIBUTE_DFLT_DARG) {
    darg = type::kDefaultDarg;
  } else if (darg < 1 && distrib != MPI_DISTRIBUTE_NONE) {
    return call.fail(MPI_ERR_ARG,
                     "argument 6 (array_of_dargs): element %zu is %lld; it must be positive, or "
                     "MPI_DISTRIBUTE_DFLT_DARG",
                     i, static_cast<long long>(darg));
  }
  switch (distrib) {
    case MPI_DISTRIBUTE_NONE: out = type::Distribution::none; break;
    case MPI_DISTRIBUTE_BLOCK: out = type::Distribution::block; break;
    case MPI_DISTRIBUTE_CYCLIC: out = type::Distribution::cyclic; break;
    default:
      return call.fail(MPI_ERR_ARG,
                       "argument 5 (array_of_distribs): element %zu is %d; it must be MPI_DISTRIBUTE_NONE, "
                       "MPI_DISTRIBUTE_BLOCK or MPI_DISTRIBUTE_CYCLIC",
                       i, distrib);
  }
  if (out == type::Distribution::none && procs != 1)
    return call.fail(MPI_ERR_ARG,
                     "dimension %zu is not distributed, so argument 7 (array_of_psizes) must have 1 there",
                     i);
  if (out == type::Distribution::block && darg > 0 && (size - 1) / darg >= procs)
    return call.fail(MPI_ERR_ARG, "dimension %zu: %lld blocks of %lld do not hold %lld elements", i,
                     static_cast<long long>(procs), static_cast<long long>(darg),
                     static_cast<long long>(size));
  return true;
}

bool is_grid(Call& call, int size, int rank, const WideArray& psizes, int ndims) noexcept {
  if (!at_least(call, psizes, 1, {7, "array_of_psizes"})) return false;
  __extension__ __int128 product = 1;
  for (std::size_t i = 0; i < static_cast<std::size_t>(ndims) && product <= size; ++i) product *= psizes[i];
  if (product != size)
    return call.fail(MPI_ERR_ARG, "argument 7 (array_of_psizes): the product is not argument 1 (size), %d",
                     size);
  if (rank >= 0 && rank < size) return true;
  return call.fail(MPI_ERR_ARG, "argument 2 (rank) is %d; it must be from 0 to %d", rank, size - 1);
}

}  // namespace

namespace api {

int type_create_subarray(Call& call, int ndims, Counts array_of_sizes, Counts array_of_subsizes,
                         Counts array_of_starts, int order, Datatype* oldtype, MPI_Datatype* newtype) {
  type::Order how = type::Order::c;
  if (!has_dimensions(call, ndims, {1, "ndims"}) ||
      !has_array(call, array_of_sizes.null(), ndims, {2, "array_of_sizes"}) ||
      !has_array(call, array_of_subsizes.null(), ndims, {3, "array_of_subsizes"}) ||
      !has_array(call, array_of_starts.null(), ndims, {4, "array_of_starts"}) ||
      !read_order(call, order, {5, "order"}, how))
    return call.error();
  const WideArray sizes{array_of_sizes, ndims}, subsizes{array_of_subsizes, ndims},
      starts{array_of_starts, ndims};
  if (!at_least(call, sizes, 1, {2, "array_of_sizes"}) ||
      !at_least(call, subsizes, 1, {3, "array_of_subsizes"}) ||
      !at_least(call, starts, 0, {4, "array_of_starts"}) || !inside(call, ndims, sizes, subsizes, starts))
    return call.error();
  auto contents = std::make_shared<Contents>(MPI_COMBINER_SUBARRAY, call.large());
  contents->add(*oldtype);
  contents->integers.push_back(ndims);
  for (const WideArray* values : {&sizes, &subsizes, &starts}) contents->add_counts(*values);
  contents->integers.push_back(order);
  type::LayoutRef layout;
  const Status status = type::subarray(sizes, subsizes, starts, how, *oldtype->layout, layout);
  return deliver(call, status, std::move(layout), std::move(contents), newtype);
}

int type_create_darray(Call& call, int size, int rank, int ndims, Counts array_of_gsizes,
                       const int array_of_distribs[], const int array_of_dargs[], const int array_of_psizes[],
                       int order, Datatype* oldtype, MPI_Datatype* newtype) {
  type::Darray shape;
  if (!has_dimensions(call, ndims, {3, "ndims"}) ||
      !has_array(call, array_of_gsizes.null(), ndims, {4, "array_of_gsizes"}) ||
      !has_array(call, array_of_distribs == nullptr, ndims, {5, "array_of_distribs"}) ||
      !has_array(call, array_of_dargs == nullptr, ndims, {6, "array_of_dargs"}) ||
      !has_array(call, array_of_psizes == nullptr, ndims, {7, "array_of_psizes"}) ||
      !read_order(call, order, {8, "order"}, shape.order))
    return call.error();
  const WideArray gsizes{array_of_gsizes, ndims}, psizes{array_of_psizes, ndims};
  WideArray dargs{array_of_dargs, ndims};
  if (!at_least(call, gsizes, 1, {4, "array_of_gsizes"}) || !is_grid(call, size, rank, psizes, ndims))
    return call.error();
  std::vector<type::Distribution> distributions(static_cast<std::size_t>(ndims));
  for (std::size_t i = 0; i < distributions.size(); ++i) {
    if (!read_distribution(call, i, array_of_distribs[i], gsizes[i], psizes[i], dargs.values()[i],
                           distributions[i])) {
      return call.error();
    }
  }
  auto contents = std::make_shared<Contents>(MPI_COMBINER_DARRAY, call.large());
  contents->add(*oldtype);
  contents->integers = {size, rank, ndims};
  contents->add_counts(gsizes);
  for (const int* values : {array_of_distribs, array_of_dargs, array_of_psizes}) {
    contents->integers.insert(contents->integers.end(), values, values + ndims);
  }
  contents->integers.push_back(order);
  shape.ranks = size;
  shape.rank = rank;
  shape.sizes = gsizes;
  shape.distributions = distributions;
  shape.dargs = dargs;
  shape.procs = psizes;
  type::LayoutRef layout;
  const Status status = type::darray(shape, *oldtype->layout, layout);
  return deliver(call, status, std::move(layout), std::move(contents), newtype);
}

}  // namespace api
}  // namespace herald::mpi
