// SPDX-License-Identifier: BSD-3-Clause
// The predefined datatypes: those with a name, and those requested by their properties.
#include <iterator>
#include <map>
#include <tuple>

#include "calls.hpp"
#include "mpi/core/tables.hpp"
#include "mpi/type/datatype.hpp"

namespace herald::mpi {
namespace {

using type::Basic;

struct Named {
  MPI_Datatype handle;
  Basic basic;
  const char* name;
};

// Synonyms (MPI_LONG_LONG, MPI_C_FLOAT_COMPLEX) are the same handle.
const Named kNamed[] = {
    {MPI_AINT, Basic::aint, "MPI_AINT"},
    {MPI_COUNT, Basic::count, "MPI_COUNT"},
    {MPI_OFFSET, Basic::offset, "MPI_OFFSET"},
    {MPI_PACKED, Basic::packed, "MPI_PACKED"},
    {MPI_SHORT, Basic::c_short, "MPI_SHORT"},
    {MPI_INT, Basic::c_int, "MPI_INT"},
    {MPI_LONG, Basic::c_long, "MPI_LONG"},
    {MPI_LONG_LONG_INT, Basic::c_long_long, "MPI_LONG_LONG_INT"},
    {MPI_UNSIGNED_SHORT, Basic::c_unsigned_short, "MPI_UNSIGNED_SHORT"},
    {MPI_UNSIGNED, Basic::c_unsigned, "MPI_UNSIGNED"},
    {MPI_UNSIGNED_LONG, Basic::c_unsigned_long, "MPI_UNSIGNED_LONG"},
    {MPI_UNSIGNED_LONG_LONG, Basic::c_unsigned_long_long, "MPI_UNSIGNED_LONG_LONG"},
    {MPI_FLOAT, Basic::c_float, "MPI_FLOAT"},
    {MPI_C_COMPLEX, Basic::c_float_complex, "MPI_C_COMPLEX"},
    {MPI_CXX_FLOAT_COMPLEX, Basic::cxx_float_complex, "MPI_CXX_FLOAT_COMPLEX"},
    {MPI_DOUBLE, Basic::c_double, "MPI_DOUBLE"},
    {MPI_C_DOUBLE_COMPLEX, Basic::c_double_complex, "MPI_C_DOUBLE_COMPLEX"},
    {MPI_CXX_DOUBLE_COMPLEX, Basic::cxx_double_complex, "MPI_CXX_DOUBLE_COMPLEX"},
    {MPI_LOGICAL, Basic::f_logical, "MPI_LOGICAL"},
    {MPI_INTEGER, Basic::f_integer, "MPI_INTEGER"},
    {MPI_REAL, Basic::f_real, "MPI_REAL"},
    {MPI_COMPLEX, Basic::f_complex, "MPI_COMPLEX"},
    {MPI_DOUBLE_PRECISION, Basic::f_double_precision, "MPI_DOUBLE_PRECISION"},
    {MPI_DOUBLE_COMPLEX, Basic::f_double_complex, "MPI_DOUBLE_COMPLEX"},
    {MPI_CHARACTER, Basic::f_character, "MPI_CHARACTER"},
    {MPI_LONG_DOUBLE, Basic::c_long_double, "MPI_LONG_DOUBLE"},
    {MPI_C_LONG_DOUBLE_COMPLEX, Basic::c_long_double_complex, "MPI_C_LONG_DOUBLE_COMPLEX"},
    {MPI_CXX_LONG_DOUBLE_COMPLEX, Basic::cxx_long_double_complex, "MPI_CXX_LONG_DOUBLE_COMPLEX"},
    {MPI_FLOAT_INT, Basic::float_int, "MPI_FLOAT_INT"},
    {MPI_DOUBLE_INT, Basic::double_int, "MPI_DOUBLE_INT"},
    {MPI_LONG_INT, Basic::long_int, "MPI_LONG_INT"},
    {MPI_2INT, Basic::two_int, "MPI_2INT"},
    {MPI_SHORT_INT, Basic::short_int, "MPI_SHORT_INT"},
    {MPI_LONG_DOUBLE_INT, Basic::long_double_int, "MPI_LONG_DOUBLE_INT"},
    {MPI_2REAL, Basic::two_real, "MPI_2REAL"},
    {MPI_2DOUBLE_PRECISION, Basic::two_double_precision, "MPI_2DOUBLE_PRECISION"},
    {MPI_2INTEGER, Basic::two_integer, "MPI_2INTEGER"},
    {MPI_C_BOOL, Basic::c_bool, "MPI_C_BOOL"},
    {MPI_CXX_BOOL, Basic::cxx_bool, "MPI_CXX_BOOL"},
    {MPI_WCHAR, Basic::c_wchar, "MPI_WCHAR"},
    {MPI_INT8_T, Basic::int8, "MPI_INT8_T"},
    {MPI_UINT8_T, Basic::uint8, "MPI_UINT8_T"},
    {MPI_CHAR, Basic::c_char, "MPI_CHAR"},
    {MPI_SIGNED_CHAR, Basic::c_signed_char, "MPI_SIGNED_CHAR"},
    {MPI_UNSIGNED_CHAR, Basic::c_unsigned_char, "MPI_UNSIGNED_CHAR"},
    {MPI_BYTE, Basic::byte, "MPI_BYTE"},
    {MPI_INT16_T, Basic::int16, "MPI_INT16_T"},
    {MPI_UINT16_T, Basic::uint16, "MPI_UINT16_T"},
    {MPI_INT32_T, Basic::int32, "MPI_INT32_T"},
    {MPI_UINT32_T, Basic::uint32, "MPI_UINT32_T"},
    {MPI_INT64_T, Basic::int64, "MPI_INT64_T"},
    {MPI_UINT64_T, Basic::uint64, "MPI_UINT64_T"},
    {MPI_LOGICAL1, Basic::f_logical1, "MPI_LOGICAL1"},
    {MPI_INTEGER1, Basic::f_integer1, "MPI_INTEGER1"},
    {MPI_LOGICAL2, Basic::f_logical2, "MPI_LOGICAL2"},
    {MPI_INTEGER2, Basic::f_integer2, "MPI_INTEGER2"},
    {MPI_REAL2, Basic::f_real2, "MPI_REAL2"},
    {MPI_LOGICAL4, Basic::f_logical4, "MPI_LOGICAL4"},
    {MPI_INTEGER4, Basic::f_integer4, "MPI_INTEGER4"},
    {MPI_REAL4, Basic::f_real4, "MPI_REAL4"},
    {MPI_COMPLEX4, Basic::f_complex4, "MPI_COMPLEX4"},
    {MPI_LOGICAL8, Basic::f_logical8, "MPI_LOGICAL8"},
    {MPI_INTEGER8, Basic::f_integer8, "MPI_INTEGER8"},
    {MPI_REAL8, Basic::f_real8, "MPI_REAL8"},
    {MPI_COMPLEX8, Basic::f_complex8, "MPI_COMPLEX8"},
    {MPI_LOGICAL16, Basic::f_logical16, "MPI_LOGICAL16"},
    {MPI_INTEGER16, Basic::f_integer16, "MPI_INTEGER16"},
    {MPI_REAL16, Basic::f_real16, "MPI_REAL16"},
    {MPI_COMPLEX16, Basic::f_complex16, "MPI_COMPLEX16"},
    {MPI_COMPLEX32, Basic::f_complex32, "MPI_COMPLEX32"},
};

Datatype* by_basic[type::kBasics] = {};

// The datatypes of MPI_Type_create_f90_*: made at the first request, the same one every time. They are never
// freed.
Datatype* unnamed(int combiner, std::tuple<int, int> key, Basic basic) {
  static auto* made = new std::map<std::tuple<int, std::tuple<int, int>>, Datatype*>;
  Datatype*& slot = (*made)[{combiner, key}];
  if (slot != nullptr) return slot;
  auto contents = std::make_shared<Contents>(combiner);
  contents->integers.push_back(std::get<0>(key));
  if (combiner != MPI_COMBINER_F90_INTEGER) contents->integers.push_back(std::get<1>(key));
  slot = tables().datatypes.create();
  slot->layout = type::LayoutRef{&type::basic_layout(basic)};
  slot->committed = slot->predefined = true;
  slot->contents = std::move(contents);
  return slot;
}

struct Real {
  int digits, range;
  Basic real, complex;
};

// The real kinds of Fortran compilers here, in the order of selected_real_kind. The second row from the
// end is x87's format, which gfortran has as kind 10.
const Real kReals[] = {
    {6, 37, Basic::f_real4, Basic::f_complex8},
    {15, 307, Basic::f_real8, Basic::f_complex16},
#if __LDBL_MANT_DIG__ == 64
    {18, 4931, Basic::c_long_double, Basic::c_long_double_complex},
#endif
    {33, 4931, Basic::f_real16, Basic::f_complex32},
};

int make_f90(Call& call, int combiner, int p, int r, MPI_Datatype* newtype) {
  if (p == MPI_UNDEFINED && r == MPI_UNDEFINED)
    return call.fail(MPI_ERR_ARG, "arguments 1 (p) and 2 (r) are both MPI_UNDEFINED; give at least one");
  if ((p < 0 && p != MPI_UNDEFINED) || (r < 0 && r != MPI_UNDEFINED))
    return call.fail(MPI_ERR_ARG, "arguments 1 (p) and 2 (r) are %d and %d; they must not be negative", p, r);
  for (const Real& row : kReals) {
    if (p > row.digits || r > row.range) continue;  // MPI_UNDEFINED is lower than any
    const Basic basic = combiner == MPI_COMBINER_F90_REAL ? row.real : row.complex;
    *newtype = handle_of(unnamed(combiner, {p, r}, basic));
    return MPI_SUCCESS;
  }
  return call.fail(MPI_ERR_ARG,
                   "no number here has %d digits and an exponent range of %d; at most 33 and 4931", p, r);
}

}  // namespace

void make_predefined_datatypes() noexcept {
  for (const Named& row : kNamed) {
    auto* datatype = new Datatype;
    const auto number = reinterpret_cast<std::uintptr_t>(row.handle);
    datatype->handle = static_cast<std::uint32_t>(number);
    datatype->predefined = datatype->committed = true;
    datatype->name = row.name;
    datatype->layout = type::LayoutRef{&type::basic_layout(row.basic)};
    by_basic[static_cast<std::size_t>(row.basic)] = datatype;
    HERALD_ASSERT(number - kFirstDatatype < kPredefinedDatatypes);
    predefined_datatypes[number - kFirstDatatype].store(datatype, std::memory_order_release);
  }
}

Datatype* predefined_datatype(Basic basic) noexcept {
  (void)tables();  // makes them at the first use
  return by_basic[static_cast<std::size_t>(basic)];
}

namespace api {

int type_create_f90_real(Call& call, int p, int r, MPI_Datatype* newtype) {
  return make_f90(call, MPI_COMBINER_F90_REAL, p, r, newtype);
}
int type_create_f90_complex(Call& call, int p, int r, MPI_Datatype* newtype) {
  return make_f90(call, MPI_COMBINER_F90_COMPLEX, p, r, newtype);
}

int type_create_f90_integer(Call& call, int r, MPI_Datatype* newtype) {
  static constexpr std::pair<int, Basic> kIntegers[] = {{2, Basic::f_integer1},
                                                        {4, Basic::f_integer2},
                                                        {9, Basic::f_integer4},
                                                        {18, Basic::f_integer8},
                                                        {38, Basic::f_integer16}};
  if (r >= 0) {
    for (const auto& [digits, basic] : kIntegers) {
      if (r > digits) continue;
      *newtype = handle_of(unnamed(MPI_COMBINER_F90_INTEGER, {r, 0}, basic));
      return MPI_SUCCESS;
    }
  }
  return call.fail(MPI_ERR_ARG, "argument 1 (r) is %d; integers here have 0 to 38 decimal digits", r);
}

int type_match_size(Call& call, int typeclass, int size, MPI_Datatype* datatype) {
  static constexpr std::tuple<int, int, Basic> kSizes[] = {
      {MPI_TYPECLASS_INTEGER, 1, Basic::f_integer1},   {MPI_TYPECLASS_INTEGER, 2, Basic::f_integer2},
      {MPI_TYPECLASS_INTEGER, 4, Basic::f_integer},    {MPI_TYPECLASS_INTEGER, 8, Basic::f_integer8},
      {MPI_TYPECLASS_INTEGER, 16, Basic::f_integer16}, {MPI_TYPECLASS_REAL, 2, Basic::f_real2},
      {MPI_TYPECLASS_REAL, 4, Basic::f_real},          {MPI_TYPECLASS_REAL, 8, Basic::f_double_precision},
      {MPI_TYPECLASS_REAL, 16, Basic::f_real16},       {MPI_TYPECLASS_COMPLEX, 4, Basic::f_complex4},
      {MPI_TYPECLASS_COMPLEX, 8, Basic::f_complex},    {MPI_TYPECLASS_COMPLEX, 16, Basic::f_double_complex},
      {MPI_TYPECLASS_COMPLEX, 32, Basic::f_complex32}};
  if (typeclass != MPI_TYPECLASS_INTEGER && typeclass != MPI_TYPECLASS_REAL &&
      typeclass != MPI_TYPECLASS_COMPLEX)
    return call.fail(MPI_ERR_ARG,
                     "argument 1 (typeclass) is %d; it must be MPI_TYPECLASS_INTEGER, MPI_TYPECLASS_REAL or "
                     "MPI_TYPECLASS_COMPLEX",
                     typeclass);
  for (const auto& [klass, bytes, basic] : kSizes) {
    if (klass != typeclass || bytes != size) continue;
    *datatype = handle_of(predefined_datatype(basic));
    return MPI_SUCCESS;
  }
  return call.fail(MPI_ERR_ARG, "argument 2 (size) is %d; there is no datatype of this class and size", size);
}

// The pair of the two kinds if it has a name, else MPI_DATATYPE_NULL.
int type_get_value_index(Call& call, Datatype* value_type, Datatype* index_type, MPI_Datatype* pair_type) {
  for (const auto& [datatype, number, name] :
       {std::tuple{value_type, 1, "value_type"}, std::tuple{index_type, 2, "index_type"}}) {
    if (datatype->predefined) continue;
    return call.fail(MPI_ERR_TYPE, "argument %d (%s) is a derived datatype; it must be a predefined one",
                     number, name);
  }
  const Basic value = value_type->layout->basic(), index = index_type->layout->basic();
  *pair_type = MPI_DATATYPE_NULL;
  for (const type::BasicRow& row : type::basic_rows()) {
    if (row.klass != type::Class::pair || row.value != value || row.index != index) continue;
    *pair_type = handle_of(predefined_datatype(row.basic));  // each pair of the table has a name
    break;
  }
  return MPI_SUCCESS;
}

}  // namespace api
}  // namespace herald::mpi
