#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong: a procedure without a manual page; a page without a word about an argument, without its Fortran
form, NOTES, ERRORS or SEE ALSO, or that troff does not understand; a related page that does not exist; an error class
that the sources give and the page does not tell; an info key of the sources that no page names, or of a page that the
sources do not know; words for a procedure, argument, kind or family that does not exist.

    manual.py SOURCE_DIR"""
import pathlib
import re
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(sys.argv[1])
sys.path[:0] = [str(SOURCE / "src" / "abi"), str(SOURCE / "src"), str(SOURCE), str(SOURCE / "tests" / "tidy")]
import manual_sources  # noqa: E402
from fortran.gen import facts, synopsis  # noqa: E402
from gen import manual, manual_table, page_errors, stubs, table  # noqa: E402

SECTIONS = ("NAME", "SYNOPSIS", "NOTES", "RETURN VALUE", "ERRORS", "SEE ALSO")
COLUMNS = 120
# Functions that a macro of mpi/p2p/nonblocking.cpp writes, or that follow it.
UNREAD = {"isend", "issend", "irsend", "irecv", "send_init", "ssend_init", "rsend_init"}
# Classes that the search through the sources finds, and that the procedure does not give.
NOT_GIVEN = {
    "MPI_Get": {"MPI_ERR_KEYVAL"},                 # a namesake in mpi/core/attr_calls.cpp
    "MPI_Iprobe": {"MPI_ERR_PROC_ABORTED"},        # it calls another probe()
    "MPI_Recv_init": {"MPI_ERR_PROC_ABORTED"},     # nothing is started yet
    "MPI_T_pvar_handle_alloc": {"MPI_T_ERR_INVALID_HANDLE"},    # another find() is called
    "MPI_T_pvar_session_free": {"MPI_T_ERR_INVALID_HANDLE"},
    # Windows of all kinds share their code, and only some of them allocate memory.
    "MPI_Win_allocate": {"MPI_ERR_RMA_SHARED"},
    "MPI_Win_create": {"MPI_ERR_NO_MEM", "MPI_ERR_RMA_SHARED"},
    "MPI_Win_create_dynamic": {"MPI_ERR_DISP", "MPI_ERR_NO_MEM", "MPI_ERR_RMA_SHARED", "MPI_ERR_SIZE"},
}

functions = table.read_functions(SOURCE / "src/abi/api.tbl")
purposes = manual.read_purposes(SOURCE / "src/abi/purpose.tbl")
words = manual_table.read(SOURCE / "src/abi/manual.tbl")
pages = manual.write_pages(functions, purposes, words, synopsis.write)


def page_exists(name):
    """Of a name as SEE ALSO has it: herald(1)."""
    page, _, section = name.rstrip(")").partition("(")
    if page == "herald-knobs":  # `herald info --man` writes it
        return section == "7"
    return f"{page}.{section}" in pages or (SOURCE / "docs" / "man" / f"{page}.{section}").exists()


def check_page(function):
    text = pages[f"{function.name}.3"]
    yield from (f"there is no {section}" for section in SECTIONS if f"\n.SH {section}\n" not in text)
    if ("\n.B USE mpi_f08\n" in text) != facts.in_f08(function) or (".B USE mpi " in text) != facts.has_fortran(function):
        yield "the synopsis has Fortran where it is not, or not where it is"
    families = words.of(function)
    for p in function.params:
        if f".IR {p.name} " not in text:
            yield f"no word about {p.name}"
        if not any(p.name in family.args for family in families) and p.name not in words.names and not words.kind(p.kind):
            yield f"no words for arguments of kind {p.kind}"
    related = manual.related(function, functions, families)
    if not manual.LEAST_RELATED <= len(set(related)) <= manual.MOST_RELATED or f"{function.name}(3)" in related:
        yield f"SEE ALSO has {', '.join(related)}"
    yield from (f"SEE ALSO has {name}, which does not exist" for name in related if not page_exists(name))


def check_classes(function, code):
    inner = stubs.inner_name(function)
    if function.form != "wait" or page_errors.always_succeeds(function):
        return
    if inner not in code:
        if inner not in UNREAD:
            yield "its function is not found in src/mpi"
        return
    given = {error_class for error_class, _ in page_errors.errors_of(function, words.of(function))}
    missing = code[inner] - given - NOT_GIVEN.get(function.name, set())
    if missing:
        yield f"ERRORS lacks {', '.join(sorted(missing))}"
    if NOT_GIVEN.get(function.name, set()) - code[inner]:
        yield "the test excepts a class that the sources do not have"


def check_family(family, classes):
    members = [function for function in functions if family.has(function)]
    names = {p.name for function in members for p in function.params}
    if not members:
        yield "no procedure is in it"
    for pattern in family.patterns:
        if not any(manual_table.matches(pattern.lstrip("!"), function) for function in functions):
            yield f"no procedure is {pattern}"
    yield from (f"no procedure has an argument {name}" for name in family.args if name not in names)
    yield from (f"there is no class {error_class}" for error_class, _ in family.errors if error_class not in classes)
    yield from (f"there is no page {name}" for name in family.see if not page_exists(manual.page_name(name)))


def check_words():
    kinds = {kind for function in functions for p in function.params for kind in (p.kind, f"{p.kind}/{p.direction}")}
    names = {p.name for function in functions for p in function.params}
    yield from (f"no argument is called {name}" for name in words.names if name not in names)
    yield from (f"no argument is of kind {kind}" for kind in words.kinds
                if not any(k == kind or kind[-1] == "*" and k.startswith(kind[:-1]) for k in kinds))
    for number, line in enumerate((SOURCE / "src/abi/manual.tbl").read_text(encoding="utf-8").splitlines(), 1):
        if len(line) > COLUMNS:
            yield f"line {number} has more than {COLUMNS} characters"


def check_keys():
    understood, complaints = manual_sources.info_keys(SOURCE)
    named = {key for function in functions for family in words.of(function) for key, _ in family.keys
             if f"\n.B {manual.escaped(key)}\n" in pages[f"{function.name}.3"]}
    yield from complaints
    yield from (f"no page names the info key {key}" for key in sorted(understood - named))
    yield from (f"the sources do not know the info key {key}" for key in sorted(named - understood))


def check_format():
    if not shutil.which("groff"):
        return
    text = "".join(page for page in pages.values() if not page.startswith(".so"))
    done = subprocess.run(["groff", "-man", "-ww", "-z"], input=text, capture_output=True, text=True)
    yield from done.stderr.splitlines()[:20]


errors = [f"purpose.tbl: there is no MPI_{name}" for name in purposes if f"MPI_{name}.3" not in pages]
if len(pages) != 662:
    errors.append(f"{len(pages)} pages for 662 procedures")
code, complaints = manual_sources.classes_by_function(SOURCE)
errors += complaints
for function in functions:
    errors += [f"{function.name}: {complaint}" for complaint in (*check_page(function), *check_classes(function, code))]
classes = {constant.name for constant in table.read_constants(SOURCE / "src/abi/constants.tbl")
           if re.match(r"MPI_(T_)?ERR_", constant.name)} | set(manual.TAGS)
for family in words.families:
    errors += [f"manual.tbl: {family.title}: {complaint}" for complaint in check_family(family, classes)]
errors += [f"manual.tbl: {complaint}" for complaint in (*check_words(), *check_keys())]
errors += check_format()
print("\n".join(errors[:40]) or f"{len(pages)} pages")
sys.exit(1 if errors else 0)
