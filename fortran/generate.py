#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Generates the Fortran interface from the tables of src/abi.

    generate.py --out DIR    writes DIR/wrappers_<letter>.c, DIR/include/mpif.h, DIR/mpi.f90, ..., and in DIR/plain the
                             modules for compilers without assumed rank
    generate.py --list       prints the names of the files, one per line
    --without 10             leaves out REAL(10), which not every compiler has; may be repeated
"""
import argparse
import itertools
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "src"))

from abi.gen import table  # noqa: E402
from gen import descriptors, f08, old, wrappers  # noqa: E402

PARTS = 6


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def files():
    """File name and text of everything that is generated."""
    functions = table.read_functions(HERE.parent / "src" / "abi" / "api.tbl")
    constants = table.read_constants(HERE.parent / "src" / "abi" / "constants.tbl")
    step = -(-len(functions) // PARTS)
    for part in range(PARTS):
        yield f"wrappers_{part}.c", lambda n=part: wrappers.write_wrappers(functions[n * step:(n + 1) * step])
        yield f"descriptors_{part}.c", lambda n=part: descriptors.write_descriptors(functions[n * step:(n + 1) * step])
    yield "include/mpif.h", lambda: old.write_mpif(functions, constants)
    for folder, subarrays in (("", True), ("plain/", False)):
        for part, prefix in itertools.product(range(PARTS), ("", "P")):
            yield f"{folder}{prefix.lower()}mpi_f08_{part}.f90", lambda n=part, p=prefix, s=subarrays: f08.write_procedures(
                functions[n * step:(n + 1) * step], p, n == PARTS - 1, s)
        yield f"{folder}mpi_f08_types.f90", lambda s=subarrays: f08.write_types(constants, s)
        yield f"{folder}mpi_f08.f90", lambda s=subarrays: f08.write_module(functions, s)
        yield f"{folder}mpi.f90", lambda s=subarrays: old.write_module(functions, constants, s)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--without", action="append", default=[])
    args = parser.parse_args()
    for name, text in files():
        if args.list:
            print(name)
        if args.out:
            lines = text().splitlines(keepends=True)
            left_out = tuple(f"!KIND{kind}\n" for kind in args.without)
            write(args.out / name, "".join(line for line in lines if not left_out or not line.endswith(left_out)))


if __name__ == "__main__":
    main()
