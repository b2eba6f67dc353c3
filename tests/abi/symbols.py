#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong: a symbol of the ABI missing (a program opened with RTLD_NOW then fails to load), others leaking
out, a dependency creeping in, MPI_ names that a profiler cannot replace.

    symbols.py LIBRARY SOURCE_DIR"""
import ctypes
import pathlib
import re
import subprocess
import sys

ALLOWED = {"libc.so.6", "libstdc++.so.6", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1"}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    library, source = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(source / "src" / "abi"))
    from gen import removed, table
    abi = {f.c_name(big) for f in table.read_functions(source / "src/abi/api.tbl") for big in f.forms()}
    wanted = abi | set(removed.names())
    errors = []

    dynamic = run("readelf", "-d", str(library))
    if re.findall(r"SONAME.*\[(.*)\]", dynamic) != ["libmpi_abi.so.1"]:
        errors.append("the SONAME is not libmpi_abi.so.1")
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", dynamic))
    extra = {n for n in needed - ALLOWED if not n.startswith(("ld-linux", "libasan", "libubsan", "libtsan"))}
    if extra:
        errors.append(f"needs {sorted(extra)}")

    kinds = {}
    for line in run("nm", "-D", "--defined-only", str(library)).splitlines():
        *_, kind, name = line.split()
        kinds[name.split("@")[0]] = kind
    for name in sorted(wanted):
        if kinds.get(name) not in ("W", "V"):
            errors.append(f"{name} is not there as a weak symbol")
        if kinds.get("P" + name) != "T":
            errors.append(f"P{name} is not there")
    for name in sorted(set(kinds) - wanted - {"P" + n for n in wanted}):
        if not name.startswith("MPIX_"):
            errors.append(f"{name} is exported, but it is no name of MPI")
    if len(abi) != 662:
        errors.append(f"the table has {len(abi)} procedures, the ABI 662")
    for old in ("Address", "Errhandler_create", "Errhandler_get", "Errhandler_set", "Type_extent", "Type_hindexed",
                "Type_hvector", "Type_lb", "Type_struct", "Type_ub"):
        if f"MPI_{old}" not in kinds:
            errors.append(f"MPI_{old}, which MPI 3.0 removed, is not there for old programs")

    ctypes.CDLL(str(library), mode=2 | ctypes.RTLD_GLOBAL)  # RTLD_NOW
    major, minor = ctypes.c_int(), ctypes.c_int()
    ctypes.CDLL(str(library)).MPI_Abi_get_version(ctypes.byref(major), ctypes.byref(minor))
    if (major.value, minor.value) != (1, 0):
        errors.append("MPI_Abi_get_version does not say 1.0 before MPI_Init")

    print("\n".join(errors[:40]) or f"{len(wanted)} procedures, each with its PMPI_ name; nothing else exported")
    sys.exit(1 if errors else 0)


main()
