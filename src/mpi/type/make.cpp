// SPDX-License-Identifier: BSD-3-Clause
// The constructors of derived datatypes: check the arrays, record the arguments, build the layout.
#include "calls.hpp"
#include "mpi/type/datatype.hpp"

namespace herald::mpi {
namespace {

std::shared_ptr<Contents> begin(const Call& call, int combiner, const Datatype& oldtype) {
  auto contents = std::make_shared<Contents>(combiner, call.large());
  contents->add(oldtype);
  return contents;
}

// Displacements of the plain forms are ints (indexed) or addresses (hindexed).
void add_displacements(Contents& contents, type::Ints displacements, bool in_bytes) {
  if (in_bytes) {
    contents.add_addresses(displacements);
  } else {
    contents.add_counts(displacements);
  }
}

int make_indexed(Call& call, MPI_Count count, Counts blocklengths, Counts displacements,
                 const Datatype& oldtype, bool in_bytes, MPI_Datatype* newtype) {
  if (!has_array(call, blocklengths.null(), count, {2, "array_of_blocklengths"}) ||
      !has_array(call, displacements.null(), count, {3, "array_of_displacements"}))
    return call.error();
  const WideArray blocks{blocklengths, count}, at{displacements, count};
  if (!at_least(call, blocks, 0, {2, "array_of_blocklengths"})) return call.error();
  auto contents = begin(call, in_bytes ? MPI_COMBINER_HINDEXED : MPI_COMBINER_INDEXED, oldtype);
  contents->add_count(count);
  contents->add_counts(blocks);
  add_displacements(*contents, at, in_bytes);
  type::LayoutRef layout;
  const Status status = in_bytes ? type::hindexed(blocks, at, *oldtype.layout, layout)
                                 : type::indexed(blocks, at, *oldtype.layout, layout);
  return deliver(call, status, std::move(layout), std::move(contents), newtype);
}

int make_indexed_block(Call& call, MPI_Count count, MPI_Count blocklength, Counts displacements,
                       const Datatype& oldtype, bool in_bytes, MPI_Datatype* newtype) {
  if (!has_array(call, displacements.null(), count, {3, "array_of_displacements"})) return call.error();
  const WideArray at{displacements, count};
  auto contents = begin(call, in_bytes ? MPI_COMBINER_HINDEXED_BLOCK : MPI_COMBINER_INDEXED_BLOCK, oldtype);
  contents->add_count(count);
  contents->add_count(blocklength);
  add_displacements(*contents, at, in_bytes);
  type::LayoutRef layout;
  const Status status = in_bytes ? type::hindexed_block(blocklength, at, *oldtype.layout, layout)
                                 : type::indexed_block(blocklength, at, *oldtype.layout, layout);
  return deliver(call, status, std::move(layout), std::move(contents), newtype);
}

}  // namespace

namespace api {

int type_contiguous(Call& call, MPI_Count count, Datatype* oldtype, MPI_Datatype* newtype) {
  auto contents = begin(call, MPI_COMBINER_CONTIGUOUS, *oldtype);
  contents->add_count(count);
  type::LayoutRef layout;
  const Status status = type::contiguous(count, *oldtype->layout, layout);
  return deliver(call, status, std::move(layout), std::move(contents), newtype);
}

int type_vector(Call& call, MPI_Count count, MPI_Count blocklength, MPI_Count stride, Datatype* oldtype,
                MPI_Datatype* newtype) {
  auto contents = begin(call, MPI_COMBINER_VECTOR, *oldtype);
  for (const MPI_Count value : {count, blocklength, stride}) contents->add_count(value);
  type::LayoutRef layout;
  const Status status = type::vector(count, blocklength, stride, *oldtype->layout, layout);
  return deliver(call, status, std::move(layout), std::move(contents), newtype);
}

int type_create_hvector(Call& call, MPI_Count count, MPI_Count blocklength, MPI_Count stride,
                        Datatype* oldtype, MPI_Datatype* newtype) {
  auto contents = begin(call, MPI_COMBINER_HVECTOR, *oldtype);
  contents->add_count(count);
  contents->add_count(blocklength);
  contents->add_address(stride);
  type::LayoutRef layout;
  const Status status = type::hvector(count, blocklength, stride, *oldtype->layout, layout);
  return deliver(call, status, std::move(layout), std::move(contents), newtype);
}

int type_indexed(Call& call, MPI_Count count, Counts array_of_blocklengths, Counts array_of_displacements,
                 Datatype* oldtype, MPI_Datatype* newtype) {
  return make_indexed(call, count, array_of_blocklengths, array_of_displacements, *oldtype, false, newtype);
}
int type_create_hindexed(Call& call, MPI_Count count, Counts array_of_blocklengths,
                         Counts array_of_displacements, Datatype* oldtype, MPI_Datatype* newtype) {
  return make_indexed(call, count, array_of_blocklengths, array_of_displacements, *oldtype, true, newtype);
}

int type_create_indexed_block(Call& call, MPI_Count count, MPI_Count blocklength,
                              Counts array_of_displacements, Datatype* oldtype, MPI_Datatype* newtype) {
  return make_indexed_block(call, count, blocklength, array_of_displacements, *oldtype, false, newtype);
}
int type_create_hindexed_block(Call& call, MPI_Count count, MPI_Count blocklength,
                               Counts array_of_displacements, Datatype* oldtype, MPI_Datatype* newtype) {
  return make_indexed_block(call, count, blocklength, array_of_displacements, *oldtype, true, newtype);
}

int type_create_struct(Call& call, MPI_Count count, Counts array_of_blocklengths,
                       Counts array_of_displacements, const MPI_Datatype array_of_types[],
                       MPI_Datatype* newtype) {
  if (!has_array(call, array_of_blocklengths.null(), count, {2, "array_of_blocklengths"}) ||
      !has_array(call, array_of_displacements.null(), count, {3, "array_of_displacements"}) ||
      !has_array(call, array_of_types == nullptr, count, {4, "array_of_types"}))
    return call.error();
  const WideArray blocks{array_of_blocklengths, count}, at{array_of_displacements, count};
  if (!at_least(call, blocks, 0, {2, "array_of_blocklengths"})) return call.error();
  auto contents = std::make_shared<Contents>(MPI_COMBINER_STRUCT, call.large());
  contents->add_count(count);
  contents->add_counts(blocks);
  contents->add_addresses(at);
  std::vector<const type::Layout*> items;
  for (MPI_Count i = 0; i < count; ++i) {
    const Datatype* item = call.object(array_of_types[i], {4, "array_of_types"});
    if (item == nullptr) return call.error();
    contents->add(*item);
    items.push_back(item->layout.get());
  }
  type::LayoutRef layout;
  const Status status = type::structure(blocks, at, items, layout);
  return deliver(call, status, std::move(layout), std::move(contents), newtype);
}

int type_create_resized(Call& call, Datatype* oldtype, MPI_Count lb, MPI_Count extent,
                        MPI_Datatype* newtype) {
  auto contents = begin(call, MPI_COMBINER_RESIZED, *oldtype);
  contents->add_address(lb);
  contents->add_address(extent);
  type::LayoutRef layout;
  const Status status = type::resized(*oldtype->layout, lb, extent, layout);
  return deliver(call, status, std::move(layout), std::move(contents), newtype);
}

}  // namespace api
}  // namespace herald::mpi
