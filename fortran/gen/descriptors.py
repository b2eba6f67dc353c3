# SPDX-License-Identifier: BSD-3-Clause
"""Writes the C functions behind mpi_f08 that take descriptors: hfd_send hands a contiguous buffer to the wrapper, and
describes a section with strides by a datatype."""
from . import facts, wrappers

TOP = wrappers.TOP + '#include "descriptors.h"\n'
REDUCTIONS = ("reduce", "scan")


def pair_of(params, p):
    """The count and the datatype that describe a buffer; None if it has no single count."""
    names = {q.name: q for q in params}
    stem = p.name.replace("buf", "").replace("_addr", "")
    for count, datatype in ((f"{stem}count", f"{stem}type"), (f"{stem}_count", f"{stem}_datatype"),
                            ("count", "datatype"), ("incount", "datatype") if p.name == "inbuf" else ("", ""),
                            ("outcount", "datatype") if p.name == "outbuf" else ("", "")):
        if count in names and datatype in names and not names[count].array and not names[datatype].array:
            return count, datatype
    return None


def strategy(function, p, params):
    """type: the section becomes a datatype; copy: a contiguous copy for the time of the call; whole: the
    address alone matters; refuse: an error."""
    name = function.name.lower()
    if name in ("mpi_get_address", "mpi_win_detach", "mpi_free_mem"):
        return "whole"
    one_message = not any(word in name for word in ("gather", "scatter", "alltoall", *REDUCTIONS, "partitioned"))
    accumulates = "accumulate" in name or "fetch_and_op" in name or "compare_and_swap" in name
    packed = name.startswith(("mpi_pack", "mpi_unpack")) and p.name in ("outbuf" if "unpack" not in name else "inbuf",)
    if one_message and not accumulates and not packed and pair_of(params, p) and "psend" not in name and "precv" not in name:
        return "type"
    if facts.starts_request(function) or facts.asynchronous(function, p):
        return "refuse"
    return "copy"


def formals(params, big):
    out = []
    for p in params:
        if wrappers.buffer_kind(p):
            out.append(f"CFI_cdesc_t* {p.name}")
        elif p.string:
            out += [f"char* {p.name}", f"size_t {p.name}_length"]
        else:
            out.append(wrappers.formal(p, big))
    return out


def write_function(function, big):
    params = facts.params(function, big)
    buffers = [p for p in params if wrappers.buffer_kind(p)]
    stem = facts.stem(function, big)
    out = [f"void HFD({stem})({', '.join(formals(params, big) + ['MPI_Fint* ierror'])}) {{"]
    # The prototype is repeated here: the wrapper is in another file.
    types = [wrappers.formal(p, big) for p in params] + ["MPI_Fint* ierror"]
    types += [f"size_t {p.name}_length" for p in params if p.string]
    renamed, before, after = {}, [], []
    for p in buffers:
        plan = "copy" if p.kind == "LOGICAL_VOID" else strategy(function, p, params)
        renamed[p.name] = f"{p.name}_view.base"
        if plan == "type":
            count, datatype = pair_of(params, p)
            before.append(f"HfView {p.name}_view = hf_view_type({p.name}, *{count}, *{datatype});")
            renamed.setdefault(count, f"&{p.name}_view.count{'_c' * big}")
            renamed.setdefault(datatype, f"&{p.name}_view.datatype")
        else:
            before.append(f"HfView {p.name}_view = hf_view_{plan}({p.name}, {int(not p.out)});")
        after.insert(0, f"hf_view_end(&{p.name}_view);")
    failed = buffers[0].name + "_view.failed"
    if len(buffers) > 1:
        failed += "".join(f" != 0 ? {a.name}_view.failed : {b.name}_view.failed" for a, b in zip(buffers, buffers[1:]))
    args = ", ".join([renamed.get(p.name, p.name) for p in params] + ["ierror"] +
                     [f"{p.name}_length" for p in params if p.string])
    out += [f"  {line}" for line in before]
    out += [f"  const int failed = {failed};", "  if (failed != 0)", "    *ierror = hf_view_error(failed);",
            "  else", f"    HF({stem})({args});"]
    out += [f"  {line}" for line in after] + ["}"]
    return f"void HF({stem})({', '.join(types)});\n" + "\n".join(out) + "\n"


def write_descriptors(functions):
    out = [TOP]
    for function in functions:
        for big in function.forms():
            if facts.in_f08(function) and any(wrappers.buffer_kind(p) for p in facts.params(function, big)):
                out.append(write_function(function, big))
    return "\n".join(out)
