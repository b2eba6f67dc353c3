// SPDX-License-Identifier: BSD-3-Clause
// MPI_Type_get_envelope and MPI_Type_get_contents, and the records behind them.
#include <algorithm>

#include "calls.hpp"
#include "mpi/core/tables.hpp"
#include "mpi/type/datatype.hpp"

namespace herald::mpi {

// A chain of derived types can be long: it is destroyed without recursion.
Contents::~Contents() {
  std::vector<std::shared_ptr<const Contents>> chain;
  auto take = [&chain](std::vector<Ingredient>& from) {
    for (Ingredient& one : from) {
      if (one.contents != nullptr) chain.push_back(std::move(one.contents));
    }
  };
  take(ingredients);
  while (!chain.empty()) {
    const std::shared_ptr<const Contents> last = std::move(chain.back());
    chain.pop_back();
    // Under the lock, so a count of one stays one.
    if (last.use_count() == 1) take(const_cast<Contents&>(*last).ingredients);
  }
}

void Contents::add(const Datatype& datatype) {
  Ingredient one;
  if (datatype.predefined) {
    one.predefined = const_cast<Datatype*>(&datatype);  // never destroyed; only its handle is needed
  } else {
    one.layout = datatype.layout;
    one.committed = datatype.committed;
    one.contents = datatype.contents;
  }
  ingredients.push_back(std::move(one));
}

void Contents::add_count(MPI_Count value) {
  if (large) {
    counts.push_back(value);
  } else {
    integers.push_back(static_cast<int>(value));  // given as an int
  }
}

void Contents::add_counts(type::Ints values) {
  for (const std::int64_t value : values) add_count(value);
}

void Contents::add_address(MPI_Count value) {
  if (large) {
    counts.push_back(value);
  } else {
    addresses.push_back(static_cast<MPI_Aint>(value));
  }
}

void Contents::add_addresses(type::Ints values) {
  for (const std::int64_t value : values) add_address(value);
}

namespace {

// False, with the call failed, if the plain calls cannot express how the datatype was made.
bool can_tell(Call& call, const Contents& contents) noexcept {
  if (call.large() || !contents.large) return true;
  return call.fail(MPI_ERR_TYPE, "argument 1 (datatype) was made with large counts; call %s_c",
                   call.function());
}

template <class T>
bool fits(Call& call, MPI_Count room, const std::vector<T>& values, const void* array, Arg arg) noexcept {
  if (room < static_cast<MPI_Count>(values.size()))
    return call.fail(MPI_ERR_ARG,
                     "argument %d (%s) is %lld, but there are %zu; ask MPI_Type_get_envelope first",
                     arg.number, arg.name, static_cast<long long>(room), values.size());
  if (array == nullptr && !values.empty())
    return call.fail(MPI_ERR_ARG, "the array for argument %d (%s) is a null pointer", arg.number, arg.name);
  return true;
}

}  // namespace

MPI_Datatype again(const Contents::Ingredient& ingredient) noexcept {
  if (ingredient.predefined != nullptr) return handle_of(ingredient.predefined);
  Datatype* datatype = tables().datatypes.create();
  datatype->layout = ingredient.layout;
  datatype->committed = ingredient.committed;
  datatype->contents = ingredient.contents;
  return handle_of(datatype);
}

namespace api {

int type_get_envelope(Call& call, Datatype* datatype, MPI_Count* num_integers, MPI_Count* num_addresses,
                      MPI_Count* num_large_counts, MPI_Count* num_datatypes, int* combiner) {
  static const Contents named{MPI_COMBINER_NAMED};
  const Contents& contents = datatype->contents != nullptr ? *datatype->contents : named;
  if (!can_tell(call, contents)) return call.error();
  *num_integers = static_cast<MPI_Count>(contents.integers.size());
  *num_addresses = static_cast<MPI_Count>(contents.addresses.size());
  if (num_large_counts != nullptr) *num_large_counts = static_cast<MPI_Count>(contents.counts.size());
  *num_datatypes = static_cast<MPI_Count>(contents.ingredients.size());
  *combiner = contents.combiner;
  return MPI_SUCCESS;
}

int type_get_contents(Call& call, Datatype* datatype, MPI_Count max_integers, MPI_Count max_addresses,
                      MPI_Count max_large_counts, MPI_Count max_datatypes, int array_of_integers[],
                      MPI_Aint array_of_addresses[], MPI_Count array_of_large_counts[],
                      MPI_Datatype array_of_datatypes[]) {
  if (datatype->contents == nullptr)
    return call.fail(MPI_ERR_TYPE, "argument 1 (datatype) is predefined (%s) and has no contents",
                     datatype->name.c_str());
  const Contents& contents = *datatype->contents;
  if (!can_tell(call, contents) ||
      !fits(call, max_integers, contents.integers, array_of_integers, {2, "max_integers"}) ||
      !fits(call, max_addresses, contents.addresses, array_of_addresses, {3, "max_addresses"}) ||
      !fits(call, max_large_counts, contents.counts, array_of_large_counts, {4, "max_large_counts"}) ||
      !fits(call, max_datatypes, contents.ingredients, array_of_datatypes,
            {call.large() ? 5 : 4, "max_datatypes"}))
    return call.error();
  std::copy(contents.integers.begin(), contents.integers.end(), array_of_integers);
  std::copy(contents.addresses.begin(), contents.addresses.end(), array_of_addresses);
  std::copy(contents.counts.begin(), contents.counts.end(), array_of_large_counts);
  std::transform(contents.ingredients.begin(), contents.ingredients.end(), array_of_datatypes, again);
  return MPI_SUCCESS;
}

}  // namespace api
}  // namespace herald::mpi
