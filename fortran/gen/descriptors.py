# SPDX-License-Identifier: BSD-3-Clause
"""Writes the C functions behind mpi_f08 that take descriptors: hfd_send hands a contiguous buffer to the wrapper, and
describes a section with strides by a datatype."""
from . import facts, wrappers

TOP = wrappers.TOP + '#include "descriptors.h"\n'
# MPI takes the address, or one element, of these buffers.
ADDRESSES = {"MPI_Get_address", "MPI_Win_detach", "MPI_Free_mem", "MPI_Fetch_and_op", "MPI_Compare_and_swap"}
# Buffers without a datatype, or with one for each rank.
BYTES = {"MPI_Buffer_attach", "MPI_Comm_attach_buffer", "MPI_Session_attach_buffer", "MPI_Win_attach",
         "MPI_Win_create"}


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


def type_of(params, p):
    """The datatype of a buffer, alone; None if there is not exactly one."""
    names = {q.name: q for q in params}
    stem = p.name.replace("buf", "")
    found = next((n for n in (f"{stem}type", "datatype") if n in names), None)
    return found if found and not names[found].array else None


def strategy(function, p, params):
    """type: one element of a new datatype; spread: as many elements of a datatype with gaps; copy: a contiguous
    copy for the time of the call; whole: the address alone matters. What does not fit becomes a copy where the call
    is blocking, else an error."""
    name = function.name.lower()
    if function.name in ADDRESSES or name.endswith("_end"):
        return "whole"
    packed = name.startswith(("mpi_pack", "mpi_unpack")) and p.name == ("inbuf" if "unpack" in name else "outbuf")
    if p.kind == "LOGICAL_VOID" or packed or function.name in BYTES:
        return "copy"
    if "accumulate" not in name and ("reduce" in name or "scan" in name):
        return "copy"
    one_message = not any(word in name for word in ("gather", "scatter", "alltoall", "psend", "precv"))
    one_side = "gather" in name and p.name == "sendbuf" or "scatter" in name and p.name == "recvbuf"
    if (one_message or one_side) and pair_of(params, p):
        return "type"
    return "spread" if type_of(params, p) else "copy"


def allowed(function, p):
    lasting = facts.starts_request(function) or facts.asynchronous(function, p)
    return " | ".join(["kMayCopy"] * (not lasting) + ["kReadOnly"] * (not p.out)) or "0"


def whose(function, p):
    """Which ranks' buffer this is in a collective with a root; None in other calls."""
    if not any(q.name == "root" for q in function.params):
        return None
    if "bcast" in function.name.lower():
        return "kOfAll"
    return "kOfRoot" if p.root else "kOfOthers"


def view_of(function, p, made, count, datatype):
    """What MPI neither reads nor writes at this rank passes as it is: its datatype may be none."""
    owner = whose(function, p)
    if owner is None:
        return made
    return (f"hf_is_contiguous({p.name}) || hf_uses_buffer(hf_comm_in(*comm), *root, {owner}) ? {made} "
            f": HF_SIMPLE_VIEW({p.name}, {count}, {datatype})")


def report(function, params):
    """The call of the error handler: that of the communicator or the window, if there is one."""
    for p in params:
        if p.kind == "WINDOW" and not p.out:
            return f'hf_section_error_win(hf_win_in(*{p.name}), "{function.name}", failed)'
        if p.kind == "COMMUNICATOR" and not p.out:
            return f'hf_section_error(hf_comm_in(*{p.name}), "{function.name}", failed)'
    return f'hf_section_error(MPI_COMM_SELF, "{function.name}", failed)'


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
    arguments = ", ".join(formals(params, big) + ["MPI_Fint* ierror"])
    out = [f"static __attribute__((noinline, cold)) void sections_of_{stem}({arguments}) {{"]
    # The prototype is repeated here: the wrapper is in another file.
    types = [wrappers.formal(p, big) for p in params] + ["MPI_Fint* ierror"]
    types += [f"size_t {p.name}_length" for p in params if p.string]
    renamed, before, after = {}, [], []
    for p in buffers:
        plan, may = strategy(function, p, params), allowed(function, p)
        renamed[p.name] = f"{p.name}_view.base"
        if plan == "type":
            count, datatype = pair_of(params, p)
            integer = next(q for q in params if q.name == count).base(big)
            made = f"hf_view_type({p.name}, *{count}, *{datatype}, {may})"
            before.append(f"HfView {p.name}_view = {view_of(function, p, made, '*' + count, '*' + datatype)};")
            before.append(f"{integer} {p.name}_count = ({integer}){p.name}_view.count;")
            renamed[count] = f"&{p.name}_count"
            renamed[datatype] = f"&{p.name}_view.datatype"
        elif plan == "spread":
            made = f"hf_view_spread({p.name}, *{type_of(params, p)}, {may})"
            before.append(f"HfView {p.name}_view = {view_of(function, p, made, '0', '*' + type_of(params, p))};")
            renamed[type_of(params, p)] = f"&{p.name}_view.datatype"
        else:
            before.append(f"HfView {p.name}_view = {view_of(function, p, f'hf_view_{plan}({p.name}, {may})', '0', '0')};")
        after.insert(0, f"hf_view_end(&{p.name}_view, {may});")
    failed = buffers[-1].name + "_view.failed"
    for p in reversed(buffers[:-1]):
        failed = f"{p.name}_view.failed != 0 ? {p.name}_view.failed : {failed}"
    args = ", ".join([renamed.get(p.name, p.name) for p in params] + ["ierror"] +
                     [f"{p.name}_length" for p in params if p.string])
    out += [f"  {line}" for line in before]
    out += [f"  const int failed = {failed};", "  if (failed != 0)", f"    *ierror = {report(function, params)};",
            "  else", f"    HF({stem})({args});"]
    out += [f"  {line}" for line in after] + ["}"]
    out += [f"void HFD({stem})({arguments}) {{"] + contiguous_path(function, params, stem) + ["}"]
    return f"void HF({stem})({', '.join(types)});\n" + "\n".join(out) + "\n"


def contiguous_path(function, params, stem):
    """Almost every buffer is contiguous: its address goes to the wrapper, and no view is made."""
    tests = [f"hf_is_contiguous({p.name})" for p in params
             if wrappers.buffer_kind(p) and strategy(function, p, params) != "whole"]
    plain = [f"{p.name}->base_addr" if wrappers.buffer_kind(p) else p.name for p in params] + ["ierror"]
    plain += [f"{p.name}_length" for p in params if p.string]
    given = [name for p in params for name in [p.name] + [f"{p.name}_length"] * p.string] + ["ierror"]
    condition = f"__builtin_expect({' && '.join(tests)}, 1)" if tests else "1"
    return [f"  if ({condition})", f"    HF({stem})({', '.join(plain)});", "  else",
            f"    sections_of_{stem}({', '.join(given)});"]


def write_descriptors(functions):
    out = [TOP]
    for function in functions:
        for big in function.forms():
            if facts.in_f08(function) and any(wrappers.buffer_kind(p) for p in facts.params(function, big)):
                out.append(write_function(function, big))
    return "\n".join(out)
