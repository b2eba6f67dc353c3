# SPDX-License-Identifier: BSD-3-Clause
"""What Fortran has to know of a procedure beyond the table of the C interface."""
from abi.gen.table import HANDLES, Param

# Procedures of mpif.h and `use mpi` that mpi_f08 does not have.
OLD_ONLY = {"MPI_Attr_delete", "MPI_Attr_get", "MPI_Attr_put", "MPI_Keyval_create", "MPI_Keyval_free"}
# Kinds that C passes and Fortran does not.
C_ONLY_KINDS = {"ARGUMENT_COUNT", "ARGUMENT_LIST", "VARARGS"}
# Buffers that MPI may access after the call, although the call returns no request.
LASTING = {"MPI_Buffer_attach", "MPI_Comm_attach_buffer", "MPI_Session_attach_buffer", "MPI_Free_mem",
           "MPI_Get_address", "MPI_Win_attach", "MPI_Win_create", "MPI_Win_detach"}
ONE_SIDED = {"MPI_Accumulate", "MPI_Get", "MPI_Put", "MPI_Get_accumulate", "MPI_Fetch_and_op", "MPI_Compare_and_swap"}
NOT_ASYNCHRONOUS = {"MPI_Precv_init", "MPI_Psend_init"}
# Arguments without INTENT in mpi_f08: a sentinel, which is no variable of the caller, may be passed.
NO_INTENT = {"array_of_errcodes", "sourceweights", "destweights"}
# `use mpi` also takes a TYPE(C_PTR) for the address.
C_PTR_TOO = {"MPI_Alloc_mem", "MPI_Win_allocate", "MPI_Win_allocate_shared", "MPI_Win_shared_query"}
# The two forms differ in the callback only, so a generic name cannot tell them apart.
CALLBACK_FORMS = {"MPI_Op_create", "MPI_Register_datarep"}
STRING_LENGTHS = {"MPI_Info_get_nthkey": "MPI_MAX_INFO_KEY", "MPI_File_get_view": "MPI_MAX_DATAREP_STRING"}
# Both ends of these strings are trimmed, not the right end alone.
INFO_STRINGS = {"MPI_Info_set", "MPI_Info_get", "MPI_Info_get_string", "MPI_Info_delete", "MPI_Info_get_valuelen"}

TYPES = {"int": "INTEGER", "MPI_Aint": "INTEGER(KIND=MPI_ADDRESS_KIND)", "MPI_Count": "INTEGER(KIND=MPI_COUNT_KIND)",
         "MPI_Offset": "INTEGER(KIND=MPI_OFFSET_KIND)", "double": "DOUBLE PRECISION"}
KINDS = ("MPI_ADDRESS_KIND", "MPI_COUNT_KIND", "MPI_OFFSET_KIND", "MPI_STATUS_SIZE")

# Predefined callbacks: name, the callback type.
PREDEFINED_FUNCTIONS = [(f"MPI_{noun}_{name}", f"MPI_{noun.capitalize()}_{kind}")
                        for noun in ("COMM", "TYPE", "WIN")
                        for name, kind in (("NULL_COPY_FN", "copy_attr_function"), ("DUP_FN", "copy_attr_function"),
                                           ("NULL_DELETE_FN", "delete_attr_function"))]
PREDEFINED_FUNCTIONS += [("MPI_CONVERSION_FN_NULL", "MPI_Datarep_conversion_function"),
                         ("MPI_CONVERSION_FN_NULL_C", "MPI_Datarep_conversion_function_c")]
OLD_FUNCTIONS = [("MPI_NULL_COPY_FN", "MPI_Copy_function"), ("MPI_DUP_FN", "MPI_Copy_function"),
                 ("MPI_NULL_DELETE_FN", "MPI_Delete_function")]


def has_fortran(function):
    return not function.name.startswith("MPI_T_") and not function.name.endswith(("_fromint", "_toint"))


def in_f08(function):
    return has_fortran(function) and function.name not in OLD_ONLY


def params(function, big):
    return [p for p in function.shown(big) if p.kind not in C_ONLY_KINDS]


def stem(function, big=False):
    """The name that the parts of the library give to a procedure: comm_rank for MPI_Comm_rank."""
    return function.c_name(big)[4:].lower()


def starts_request(function):
    return any(p.kind == "REQUEST" and p.direction == "out" for p in function.params)


def asynchronous(function, p):
    name = function.name
    if name in NOT_ASYNCHRONOUS:
        return False
    lasting = name in LASTING or name in ONE_SIDED or name.endswith(("_begin", "_end"))
    if p.kind == "BUFFER":
        return lasting or starts_request(function)
    if name.startswith("MPI_Comm_idup"):
        return p.name == "newcomm"
    return p.array and starts_request(function) and function.form != "wait"


def intent(function, p):
    if p.name in NO_INTENT or p.kind in ("FUNCTION", "POLYFUNCTION"):
        return None
    if p.kind == "BUFFER" and (p.out and asynchronous(function, p) or function.name in LASTING):
        return None
    return p.direction


def is_function(p):
    return p.kind in ("FUNCTION", "POLYFUNCTION")


def has_buffer(function):
    return any(p.kind == "BUFFER" for p in function.params)


def has_overload(function):
    """Whether the large-count form shares the generic name: the kinds of some argument must differ."""
    if not function.poly or function.name in CALLBACK_FORMS:
        return False
    # MPI_Aint and MPI_Count have the same kind.
    plain = params(function, False)
    return len(plain) != len(params(function, True)) or any(p.poly and p.base(False) == "int" for p in plain)


def result_type(function):
    """The type of a Fortran function; None for a subroutine."""
    return None if function.returns == "ERROR_CODE" else TYPES[function.c_return()]


def fortran_constants(constants):
    """Constants that Fortran has, less the sentinels and the callbacks."""
    skip = ("BUFFER_ADDR_CONSTANTS", "EMPTY_IGNORE_INPUT_CONSTANTS", "FUNCTIONS", "DEPRECATED_FUNCS",
            "FORTRAN_STATUS_ARRAY_SIZE_AND_INDEX_C")
    return [c for c in constants if c.category not in skip and
            (not c.name.startswith("MPI_T_") or c.category == "ERROR_CLASSES")]


SYNC = Param("inout", "buf", "BUFFER")
ALL_HANDLES = HANDLES
