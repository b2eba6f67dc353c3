# SPDX-License-Identifier: BSD-3-Clause
"""Writes the Fortran part of the synopsis of a manual page: a procedure in mpi_f08, and in `use mpi` and mpif.h."""
from . import f08, facts, text

COLUMNS = 68  # of a page of 80, less its margins and those of a continued line


def wrapped(line, indent):
    """A statement, broken behind commas."""
    out = []
    while len(line) > COLUMNS:
        cut = line.rfind(", ", 0, COLUMNS) + 1
        if cut == 0:
            break
        out.append(line[:cut] + " &")
        line = indent + line[cut:].lstrip()
    return out + [line]


def heading(function, big, name):
    params = facts.params(function, big)
    kind = facts.result_type(function)
    has_error = kind is None and function.name != "MPI_Pcontrol"
    first = (f"{kind} " if kind else "") + f"{name}({', '.join([p.name for p in params] + ['ierror'] * has_error)})"
    return params, has_error, wrapped(first, "        ")


def grouped(lines):
    """Declarations of one type in one statement."""
    names = {}
    for line in lines:
        kind, _, name = line.partition(" :: ")
        names.setdefault(kind, []).append(name)
    return [row for kind, each in names.items() for row in wrapped(f"    {kind} :: {', '.join(each)}", "        ")]


def modern(function, big):
    params, has_error, out = heading(function, big, function.c_name(big and not facts.has_overload(function)))
    lines = text.declare_in_order(params, lambda p: [f08.declaration(function, p, big)])
    return out + grouped(lines + ["INTEGER, OPTIONAL, INTENT(OUT) :: ierror"] * has_error)


def old_declaration(p):
    if p.kind in ("BUFFER", "C_BUFFER2", "LOGICAL_VOID"):
        return [f"<type> :: {p.name}(*)"]
    return text.old_declaration(p)


def old(function):
    params, has_error, out = heading(function, False, function.name.upper())
    return out + grouped(text.declare_in_order(params, old_declaration) + ["INTEGER :: ierror"] * has_error)


def write(function):
    """[(heading, lines)]; empty if Fortran does not have the procedure."""
    if not facts.has_fortran(function):
        return []
    out = []
    if facts.in_f08(function):
        out = [("USE mpi_f08" + " (large counts)" * big, modern(function, big)) for big in function.forms()]
    return out + [("USE mpi    ! or INCLUDE 'mpif.h'", old(function))]
