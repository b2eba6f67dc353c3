#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong: a procedure without a manual page, or with one that names no argument, or that troff does not
understand, or without its Fortran form; words for a procedure that does not exist.

    manual.py SOURCE_DIR"""
import pathlib
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(sys.argv[1])
sys.path[:0] = [str(SOURCE / "src" / "abi"), str(SOURCE / "src"), str(SOURCE)]
from fortran.gen import facts, synopsis  # noqa: E402
from gen import manual, table  # noqa: E402

functions = table.read_functions(SOURCE / "src/abi/api.tbl")
purposes = manual.read_purposes(SOURCE / "src/abi/purpose.tbl")
pages = manual.write_pages(functions, purposes, synopsis.write)
errors = [f"purpose.tbl: there is no MPI_{name}" for name in purposes if f"MPI_{name}.3" not in pages]
for function in functions:
    text = pages[f"{function.name}.3"]
    if ("\n.B USE mpi_f08\n" in text) != facts.in_f08(function) or (".B USE mpi " in text) != facts.has_fortran(function):
        errors.append(f"{function.name}: the synopsis has Fortran where it is not, or not where it is")
    for p in function.params:
        if f".IR {p.name} " not in text:
            errors.append(f"{function.name}: no word about {p.name}")
        known = p.name in manual.ROLES or p.kind in manual.KINDS or any(p.kind.startswith(start) for start, _ in manual.POLY)
        if not known:
            errors.append(f"{function.name}: no words for arguments of kind {p.kind}")
if len(pages) != 662:
    errors.append(f"{len(pages)} pages for 662 procedures")
if shutil.which("groff"):
    done = subprocess.run(["groff", "-man", "-ww", "-z"], input="".join(text for text in pages.values() if ".so" not in text),
                          capture_output=True, text=True)
    errors += done.stderr.splitlines()[:20]
print("\n".join(errors[:40]) or f"{len(pages)} pages")
sys.exit(1 if errors else 0)
