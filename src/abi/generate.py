#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Generates the C interface from the tables beside this file.

    generate.py --out DIR             writes DIR/include/mpi.h, DIR/calls.hpp, DIR/entry_<part>.cpp, DIR/exports.map
    generate.py --list-parts          prints the names of the parts, one per line
    generate.py --manual DIR          writes a manual page for each procedure
    generate.py --status FILE         writes the implementation status
    generate.py --check-status FILE   fails when FILE is out of date
"""
import argparse
import pathlib
import sys

from gen import header, manual, manual_table, removed, status, stubs, table

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent), str(HERE.parent.parent)]

from fortran.gen import synopsis  # noqa: E402


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def exports(functions):
    names = [f.c_name(big) for f in functions for big in f.forms()] + removed.names()
    lines = [f"    {prefix}{name};" for prefix in ("", "P") for name in names]
    return "{\n  global:\n" + "\n".join(lines) + "\n    MPIX_*;\n  local:\n    *;\n};\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--list-parts", action="store_true")
    parser.add_argument("--manual", type=pathlib.Path)
    parser.add_argument("--status", type=pathlib.Path)
    parser.add_argument("--check-status", type=pathlib.Path)
    args = parser.parse_args()
    functions = table.read_functions(HERE / "api.tbl")
    constants = table.read_constants(HERE / "constants.tbl")
    parts = sorted({f.status for f in functions})
    if args.list_parts:
        print("\n".join(parts + ["removed"]))
    if args.out:
        write(args.out / "include" / "mpi.h", header.write_header(functions, constants))
        write(args.out / "calls.hpp", stubs.write_declarations(functions))
        write(args.out / "exports.map", exports(functions))
        write(args.out / "entry_removed.cpp", removed.write_symbols())
        for part in parts:
            chosen = [f for f in functions if f.status == part]
            write(args.out / f"entry_{part}.cpp", stubs.write_entry_points(chosen))
    if args.manual:
        purposes, words = manual.read_purposes(HERE / "purpose.tbl"), manual_table.read(HERE / "manual.tbl")
        for name, text in manual.write_pages(functions, purposes, words, synopsis.write).items():
            write(args.manual / name, text)
    if args.status:
        write(args.status, status.write_status(functions))
    if args.check_status:
        old = args.check_status.read_text(encoding="utf-8") if args.check_status.exists() else ""
        if old != status.write_status(functions):
            sys.exit(f"{args.check_status} is out of date: run src/abi/generate.py --status {args.check_status}")


if __name__ == "__main__":
    main()
