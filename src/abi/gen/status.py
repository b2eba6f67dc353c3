# SPDX-License-Identifier: BSD-3-Clause
"""Writes docs/status.md: which procedures of MPI 5.0 are implemented, counted from the table."""
import textwrap

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
    done, later = {}, {}
    for function in functions:
        part = function.later or function.status
        (later if function.later else done).setdefault(part, []).append(function)
    forms = lambda fs: sum(len(f.forms()) for f in fs)
    total_done = sum(forms(v) for v in done.values())
    total = total_done + sum(forms(v) for v in later.values())
    out = ["# Implementation status", "",
           "Counted from `src/abi/api.tbl` by `src/abi/generate.py`; `make test` fails when this page is out of date.",
           "",
           f"{total_done} of the {total} procedures of the MPI 5.0 ABI are implemented (`_c` forms counted).",
           *([f"The other {total - total_done} can be linked and raise `MPI_ERR_UNSUPPORTED_OPERATION`, with their name",
              "in the error text."] if later else []),
           "", "| part | procedures |", "|---|---|"]
    for part, items in sorted(done.items(), key=lambda kv: PARTS[kv[0]]):
        out.append(f"| {PARTS[part]} | {forms(items)} |")
    if later:
        out += ["", "Not implemented yet:", ""]
    for part, items in sorted(later.items(), key=lambda kv: PARTS[kv[0]]):
        names = ", ".join(f.name for f in items)
        out += textwrap.wrap(f"- {PARTS[part]} ({forms(items)}): {names}", 118, subsequent_indent="  ",
                             break_long_words=False, break_on_hyphens=False)
    return "\n".join(out) + "\n"
