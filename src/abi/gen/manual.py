# SPDX-License-Identifier: BSD-3-Clause
"""Writes a manual page for each procedure: purpose (purpose.tbl), synopsis, arguments by kind and direction, errors."""

FIELDS = {"comm": "communicators", "coll": "collectives", "p2p": "point-to-point", "rma": "one-sided communication"}

KINDS = {
    "BUFFER": "address of the data", "DATATYPE": "datatype of an item", "COMMUNICATOR": "communicator",
    "REQUEST": "request", "INFO": "info object with hints; MPI_INFO_NULL: none", "RANK": "rank",
    "RANK_NNI": "rank", "STRING": "text", "FILE": "file", "STATUS": "status; MPI_STATUS_IGNORE: not wanted",
    "WINDOW": "window", "LOGICAL": "true or false", "GROUP": "group", "TAG": "tag, 0 to MPI_TAG_UB",
    "OPERATION": "operation", "ARRAY_LENGTH": "number of entries", "ARRAY_LENGTH_NNI": "number of entries",
    "ARRAY_LENGTH_PI": "number of entries", "OFFSET": "offset", "KEYVAL": "key of an attribute",
    "STRING_LENGTH": "length of the text", "ERRHANDLER": "error handler", "FUNCTION": "function of the program",
    "POLYFUNCTION": "function of the program", "ERROR_CODE": "error code", "ERROR_CLASS": "error class",
    "SESSION": "session", "KEY_INDEX": "number of a key", "INDEX": "index", "CAT_INDEX": "number of a category",
    "RMA_DISPLACEMENT_NNI": "displacement in the target's window, in its units", "PVAR_SESSION": "session of variables",
    "DISPLACEMENT": "displacement in bytes", "DISPLACEMENT_NNI": "displacement in bytes", "PVAR": "performance variable",
    "CVAR": "control variable", "EXTRA_STATE": "passed on to the functions", "EXTRA_STATE2": "passed on to the functions",
    "COMM_SIZE": "number of ranks", "COMM_SIZE_PI": "number of ranks", "C_BUFFER": "memory", "C_BUFFER2": "memory",
    "C_BUFFER3": "memory", "ATTRIBUTE_VAL": "value of the attribute", "ATTRIBUTE_VAL_10": "value of the attribute",
    "DIMENSION": "size of a dimension", "DEGREE": "number of neighbours", "WEIGHT": "weights; MPI_UNWEIGHTED: none",
    "MESSAGE": "message of a matched probe", "THREAD_LEVEL": "level of thread support", "PVAR_INDEX": "number of a variable",
    "CVAR_INDEX": "number of a variable", "TOOLS_ENUM": "enumeration", "MATH": "number", "ASSERT": "what the program promises; 0: nothing",
    "LOGICAL_VOID": "true or false", "VERSION": "number of a version", "NUM_DIMS": "number of dimensions",
    "WINDOW_SIZE": "bytes", "WIN_ATTACH_SIZE": "bytes", "ALLOC_MEM_NUM_BYTES": "bytes", "NUM_BYTES": "bytes",
    "TYPECLASS_SIZE": "bytes", "LOCATION_SMALL": "address", "POLYLOCATION": "address", "COORDINATE": "coordinate",
    "ARGUMENT_COUNT": "address of argc, or null", "ARGUMENT_LIST": "address of argv, or null",
    "INFO_VALUE_LENGTH": "length of the value", "COLOR": "colour; MPI_UNDEFINED: no new communicator",
    "SPLIT_TYPE": "how to split", "KEY": "orders the new ranks", "LOCK_TYPE": "MPI_LOCK_SHARED or MPI_LOCK_EXCLUSIVE",
    "COMBINER": "how the datatype was made", "TYPECLASS": "class of datatypes", "ORDER": "MPI_ORDER_C or MPI_ORDER_FORTRAN",
    "TOPOLOGY_TYPE": "kind of topology", "COMM_COMPARISON": "result of the comparison",
    "GROUP_COMPARISON": "result of the comparison", "VARARGS": "further arguments", "PROFILE_LEVEL": "level",
    "XFER_NUM_ELEM": "number of items", "XFER_NUM_ELEM_NNI": "number of items", "UPDATE_NUMBER": "number of the last change",
    "EVENT_INDEX": "number of an event", "TOOL_VAR_VERBOSITY": "for whom it is: user, tuner or developer",
    "BIND_TYPE": "kind of object that it belongs to", "VARIABLE_SCOPE": "when, and by which ranks, it can be set",
    "CVAR_INDEX_SPECIAL": "number of a variable", "TOOL_MPI_OBJ": "address of the object's handle; not used here",
    "TOOLS_NUM_ELEM_SMALL": "number of elements", "TOOLENUM_SIZE": "number of values", "TOOLENUM_INDEX": "number of a value",
    "TOOL_VAR_VALUE": "value", "PVAR_CLASS": "class: counter, level, aggregate ...", "SOURCE_INDEX": "number of a source",
    "DISTRIB_ENUM": "how a dimension is distributed", "DTYPE_DISTRIBUTION": "argument of the distribution",
    "PROCESS_GRID_SIZE": "number of ranks in a dimension", "GENERIC_DTYPE_INT": "number of values",
    "GENERIC_DTYPE_COUNT": "number of values", "TOOLS_TICK_COUNT": "ticks of a clock",
    "LOGICAL_OPTIONAL": "true or false; may be null", "PARTITION": "partition",
    "EVENT_INSTANCE": "event, valid inside its callback", "EVENT_REGISTRATION": "registration for events",
    "EVENT_CB_FUNCTION": "function of the program", "EVENT_DROP_CB_FUNCTION": "function of the program",
    "EVENT_FREE_CB_FUNCTION": "function of the program; may be null", "CALLBACK_SAFETY": "what the callback may do",
    "SOURCE_ORDERING": "whether its events come in the order of time", "ACCESS_MODE": "how the file is opened",
    "UPDATE_MODE": "MPI_SEEK_SET, MPI_SEEK_CUR or MPI_SEEK_END", "FILE_DESCRIPTOR": "descriptor of a connected socket",
    "STRING_ARRAY": "texts, a null pointer behind the last", "STRING_2DARRAY": "for each program its texts",
}
POLY = (("POLYXFER_NUM_ELEM", "number of items"), ("POLYDISPLACEMENT_AINT", "displacement in bytes"),
        ("POLYDISPLACEMENT", "displacement in items"), ("POLYDTYPE_NUM_ELEM", "number of items"),
        ("POLYDTYPE_STRIDE_BYTES", "stride in bytes"), ("POLYNUM_BYTES", "number of bytes"),
        ("POLYRMA_DISPLACEMENT", "bytes of a unit of displacements"), ("POLYNUM_PARAM_VALUES", "number of values"),
        ("POLYDTYPE_PACK_SIZE", "bytes"), ("POLYDISPOFFSET", "bytes"))
ROLES = {"dest": "rank of the receiver", "source": "rank of the sender", "root": "rank of the root",
         "sendbuf": "address of the data to send", "recvbuf": "address of the memory for the data received",
         "target_rank": "rank of the target"}
WAYS = {"in": "in", "out": "out", "inout": "in and out"}
# Error classes by kind of argument.
ERRORS = {"COMMUNICATOR": "MPI_ERR_COMM", "DATATYPE": "MPI_ERR_TYPE", "BUFFER": "MPI_ERR_BUFFER", "TAG": "MPI_ERR_TAG",
          "OPERATION": "MPI_ERR_OP", "GROUP": "MPI_ERR_GROUP", "INFO": "MPI_ERR_INFO", "REQUEST": "MPI_ERR_REQUEST",
          "WINDOW": "MPI_ERR_WIN", "SESSION": "MPI_ERR_SESSION", "KEYVAL": "MPI_ERR_KEYVAL",
          "ERRHANDLER": "MPI_ERR_ERRHANDLER", "RANK": "MPI_ERR_RANK", "RANK_NNI": "MPI_ERR_RANK"}
OBJECTS = {"Comm": "a communicator", "File": "a file", "Win": "a window", "Session": "a session", "Type": "a datatype"}
PATTERNS = {
    "call_errhandler": "call the error handler of {}", "create_errhandler": "make an error handler for {}",
    "get_errhandler": "the error handler of {}", "set_errhandler": "set the error handler of {}",
    "create_keyval": "make a key for attributes of {}", "free_keyval": "free a key for attributes of {}",
    "delete_attr": "remove an attribute of {}", "get_attr": "an attribute of {}", "set_attr": "set an attribute of {}",
    "attach_buffer": "give memory to MPI_Bsend in {}", "detach_buffer": "take that memory of {} back",
    "flush_buffer": "wait until the buffered messages of {} have left",
    "iflush_buffer": "the flush of the buffer of {}, with a request",
    "toint": "the handle of {} as an integer", "fromint": "the handle of {} of an integer",
}


def read_purposes(path):
    rows = (line.split(" ", 1) for line in path.read_text(encoding="utf-8").splitlines() if line and line[0] != "#")
    return {name: text for name, text in rows}


def noun_of(stem):
    words = {"Op": "an operation", "Errhandler": "an error handler", "Info": "an info object"}
    if stem in OBJECTS or stem in words:
        return OBJECTS.get(stem) or words[stem]
    return ("an " if stem[0] in "AEIOU" else "a ") + stem.lower()


def purpose(function, purposes):
    name = function.name[4:]
    if name in purposes:
        return purposes[name]
    if function.family and function.form != "wait":
        return ("begin " if function.form == "start" else "prepare for repeated starts ") + function.family
    stem, _, rest = name.partition("_")
    return PATTERNS[rest].format(noun_of(stem))


def argument_text(p):
    text = ROLES.get(p.name) or KINDS.get(p.kind)
    if text is None:
        text = next((words for start, words in POLY if p.kind.startswith(start)), p.kind.lower().replace("_", " "))
    if p.array:
        text = "array: " + text
    return text + ("; it matters at the root only" if p.root else "")


def see_also(function, functions):
    """Other forms first, then up to eight that act on the same object."""
    name = function.name
    forms = [f.name for f in functions if (f.family or f.name) == (function.family or name) and f.name != name]
    stem = name.split("_")[1]
    alike = [f.name for f in functions if f.name.split("_")[1] == stem and f.name != name and f.name not in forms]
    return forms + alike[:8] + ["mpiexec"] * (name in ("MPI_Init", "MPI_Finalize", "MPI_Abort"))


def signature(function, big):
    """The C declaration, broken before column 72: the page has a margin."""
    words = (function.signature(big) + ";").split(", ")
    words = [word + "," for word in words[:-1]] + words[-1:]
    lines, line = [], words[0]
    for word in words[1:]:
        if len(line) + 1 + len(word) > 72:
            lines.append(line)
            line = "    " + word
        else:
            line += " " + word
    return "\n".join(lines + [line])


def escaped(text):
    return text.replace("\\", "\\\\").replace("-", "\\-")


def what_herald_does(function):
    if function.status == "coll":
        op = (function.family or function.name)[4:].lower()
        text = ("Herald makes a plan of the call for this communicator, these sizes and datatypes, and uses it again for equal "
                "calls. ")
        if not op.startswith("neighbor"):
            text += (f"herald explain {op} prints the algorithms and which one it uses; HERALD_COLL forces one. ")
        return text + "HERALD_CHECK=collectives compares the calls of all ranks."
    if function.name in ("MPI_Send", "MPI_Isend"):
        return ("A short message leaves at once; of a long one the first bytes are pushed, and the receiver pulls the rest when "
                "it has matched it.")
    return None


def synopsis(function, fortran):
    out = [".SH SYNOPSIS", ".nf", ".B #include <mpi.h>", ".PP"]
    for big in function.forms():
        out += [escaped(line) for line in signature(function, big).split("\n")]
    for heading, lines in fortran(function):
        out += [".PP", f".B {heading}", ".PP"] + [escaped(line) for line in lines]
    return out + [".fi"]


def page(function, functions, purposes, fortran):
    names = [function.c_name(big) for big in function.forms()]
    out = [".\\\" SPDX-License-Identifier: BSD-3-Clause", ".\\\" Generated by src/abi/generate.py; do not edit.",
           f'.TH {function.name.upper()} 3 "" "Herald" "Herald MPI"', ".SH NAME",
           f"{', '.join(names)} \\- {escaped(purpose(function, purposes))}"] + synopsis(function, fortran)
    if function.params:
        out.append(".SH ARGUMENTS")
        for p in function.params:
            only = f" (only in {function.c_name(True)})" if p.large else ""
            out += [".TP", f".IR {p.name} \" ({WAYS[p.direction]})\"", escaped(argument_text(p) + only)]
    does = what_herald_does(function)
    if does:
        out += [".SH NOTES", escaped(does)]
    if function.returns == "ERROR_CODE":
        classes = sorted({ERRORS[p.kind] for p in function.params if p.kind in ERRORS and not p.out}
                         | {"MPI_ERR_COUNT" for p in function.params if p.poly and p.kind.endswith("NNI")})
        where = "returned" if function.status == "tool" else "passed to the error handler, which by default ends the job"
        out += [".SH RETURN VALUE", escaped(f"MPI_SUCCESS, or an error code. Errors are {where}; the text names the argument "
                                            "and the cure.")]
        if classes and function.status != "tool":
            out += [".SH ERRORS", escaped("Classes of wrong arguments: " + ", ".join(classes) + ".")]
    others = see_also(function, functions)
    if others:
        rows = [f".BR {escaped(name)} ({3 if name.startswith('MPI') else 1})" + ("," if i + 1 < len(others) else "")
                for i, name in enumerate(others)]
        out += [".SH SEE ALSO"] + rows
    return "\n".join(out) + "\n"


def write_pages(functions, purposes, fortran):
    """{file name: text}; the _c form is a link to the page of the plain one. fortran(procedure): headings and lines."""
    out = {}
    for function in functions:
        out[f"{function.name}.3"] = page(function, functions, purposes, fortran)
        for big in function.forms():
            if big:
                out[f"{function.c_name(big)}.3"] = f".so man3/{function.name}.3\n"
    return out
