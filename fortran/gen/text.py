# SPDX-License-Identifier: BSD-3-Clause
"""Fortran source text: declarations, interfaces, line breaks."""
from . import facts

LIMIT = 110


def wrap(line):
    """A statement of free form, broken at commas and blanks where it is long."""
    if len(line) <= LIMIT:
        return line
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    out, rest = [], line
    while len(rest) > LIMIT:
        cut = max(rest.rfind(", ", 0, LIMIT) + 1, rest.rfind(" ", 0, LIMIT) if ", " not in rest[:LIMIT] else 0)
        out.append(rest[:cut] + " &")
        rest = indent + rest[cut:].lstrip()
    return "\n".join(out + [rest])


def dimension(p):
    """The bounds of an array argument; empty for a scalar."""
    if p.kind == "STATUS" and p.array:
        return "(*)"
    if not p.array:
        return ""
    if "," in p.length:
        return f"({p.length.split(',')[1]}, *)"
    return f"({p.length})"


def old_type(p, big):
    """The type in mpif.h and `use mpi`."""
    if p.handle:
        return "INTEGER"
    if p.kind in ("C_BUFFER", "ATTRIBUTE_VAL", "EXTRA_STATE"):
        return facts.TYPES["MPI_Aint"]
    if p.kind == "LOGICAL":
        return "LOGICAL"
    if p.string or p.kind in ("STRING_ARRAY", "STRING_2DARRAY"):
        return "CHARACTER(LEN=*)"
    return facts.TYPES.get(p.base(big), "INTEGER")


def choice(name):
    """A buffer of any type and rank, passed by its address. make_modules puts REAL in place of TYPE(*) where a compiler
    has no assumed type."""
    return [f"TYPE(*),DIMENSION(*) :: {name}", f"!GCC$ ATTRIBUTES NO_ARG_CHECK :: {name}", f"!DIR$ IGNORE_TKR {name}"]


def old_declaration(p, big=False):
    """The declaration of an argument in `use mpi`."""
    if p.kind in ("BUFFER", "C_BUFFER2", "LOGICAL_VOID"):
        return choice(p.name)
    if facts.is_function(p):
        return [f"EXTERNAL :: {p.name}"]
    if p.kind == "STATUS":
        return [f"INTEGER :: {p.name}(MPI_STATUS_SIZE{', *' if p.array else ''})"]
    shape = {"STRING_ARRAY": "(*)", "STRING_2DARRAY": "(count, *)"}.get(p.kind, dimension(p))
    if p.name == "array_of_errcodes":
        shape = "(*)"
    return [f"{old_type(p, big)} :: {p.name}{shape}"]


def used_kinds(lines):
    text = "\n".join(lines)
    return [kind for kind in facts.KINDS if kind in text]


def declare_in_order(params, declare):
    """Declarations, scalars first: the bounds of arrays are scalars."""
    scalars = [line for p in params if not p.array for line in declare(p)]
    return scalars + [line for p in params if p.array for line in declare(p)]
