# SPDX-License-Identifier: BSD-3-Clause
"""Writes a manual page for each procedure: purpose (purpose.tbl), synopsis, arguments, what Herald does, info keys,
errors and related pages (manual.tbl, and the checks of the entry points)."""
from gen import page_errors

WAYS = {"in": "in", "out": "out", "inout": "in and out"}
AT_ROOT = "; it matters at the root only"
LEAST_RELATED, MOST_RELATED = 3, 8
TAGS = {"CALLBACK": ".I the code of a function of the program", "OTHERS": ".I other classes"}
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


def argument_text(function, p, words, families):
    """The words of the last family that has some, else by name, else by kind."""
    text = next((family.args[p.name] for family in reversed(families) if p.name in family.args), None)
    text = text or words.names.get(p.name)
    if text is None:
        text = ("array: " if p.array else "") + (words.kind(p.kind, p.direction) or p.kind.lower().replace("_", " "))
    return text + (AT_ROOT if p.root and not text.endswith(AT_ROOT) else "")


def plain_stem(name):
    """Parts of a name without the marks of nonblocking and persistent forms, in lower case."""
    parts = name[4:].lower().split("_")
    verb = 1 if parts[0] in ("file", "comm", "session", "buffer") and len(parts) > 1 else 0
    if parts[verb][:1] == "i" and parts[verb][1:] in FORMS:
        parts[verb] = parts[verb][1:]
    return [part for part in parts if part not in ("init", "begin", "end")]


FORMS = {"send", "ssend", "rsend", "bsend", "recv", "sendrecv", "probe", "mprobe", "mrecv", "read", "write", "dup", "flush"}


OPPOSITES = [("attach", "detach"), ("set", "get"), ("open", "close"), ("read", "write"), ("pack", "unpack"), ("put", "get"),
             ("lock", "unlock"), ("toint", "fromint"), ("add", "remove"), ("start", "stop"), ("alloc", "free"),
             ("create", "free"), ("send", "recv"), ("publish", "lookup"), ("accept", "connect"), ("begin", "end"),
             ("pready", "parrived"), ("post", "start"), ("complete", "wait"), ("init", "finalize")]


def inverse(name, names):
    """The procedures that do the opposite, by words of their names."""
    known = {other.lower(): other for other in names}
    parts, found = name.lower().split("_"), []
    for pair in OPPOSITES + [pair[::-1] for pair in OPPOSITES]:
        for i, part in enumerate(parts):
            if part in (pair[0], "i" + pair[0]):
                found.append("_".join(parts[:i] + [part.replace(*pair)] + parts[i + 1:]))
    return [known[other] for other in dict.fromkeys(found) if other in known]


def likeness(one, other):
    """How much two names have in common: forms of one procedure most, then common words."""
    a, b = plain_stem(one), plain_stem(other)
    if a == b:
        return 10
    begin = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    return begin + 0.5 * len(set(a[begin:]) & set(b[begin:])) - 0.1 * abs(len(a) - len(b))


def page_name(name):
    """A name of manual.tbl with its section."""
    return name if "(" in name else f"{name}(3)" if name.startswith("MPIX_") else f"MPI_{name}(3)"


def related(function, functions, families):
    """Names of pages with their sections: other forms first, then those of the families, the special ones first, then
    those whose names are most alike."""
    forms = [f.name for f in functions if f.name != function.name and
             ((f.family and f.family == function.family) or plain_stem(f.name) == plain_stem(function.name))]
    listed = [page_name(name) for family in reversed(families) for name in family.see]
    near = [f"{name}(3)" for name in forms + inverse(function.name, [f.name for f in functions])]
    found = [name for name in dict.fromkeys(near + listed) if name != f"{function.name}(3)"]
    if len(found) < LEAST_RELATED:
        others = [f.name for f in functions if f.status == function.status and f.name != function.name]
        others.sort(key=lambda name: -likeness(function.name, name))
        found += [f"{name}(3)" for name in others if f"{name}(3)" not in found][:LEAST_RELATED + 1 - len(found)]
    pages = [name for name in found if name.endswith("(3)")]
    tools = [name for name in found if not name.endswith("(3)")]
    return pages[:MOST_RELATED - len(tools)] + tools


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


def item(tag, text):
    return [".TP", tag, escaped(text)]


def synopsis(function, fortran):
    out = [".SH SYNOPSIS", ".nf", ".B #include <mpi.h>", ".PP"]
    for big in function.forms():
        out += [escaped(line) for line in signature(function, big).split("\n")]
    for heading, lines in fortran(function):
        out += [".PP", f".B {heading}", ".PP"] + [escaped(line) for line in lines]
    return out + [".fi"]


def arguments(function, words, families):
    out = [".SH ARGUMENTS"] if function.params else []
    for p in function.params:
        only = f" (only in {function.c_name(True)})" if p.large else ""
        out += item(f".IR {p.name} \" ({WAYS[p.direction]})\"", argument_text(function, p, words, families) + only)
    return out


def notes(function, families):
    """The special ones first."""
    op = (function.family or function.name)[4:].lower()
    texts = dict.fromkeys(note.replace("{op}", op) for family in reversed(families) for note in family.notes)
    return [line for i, text in enumerate(texts) for line in (".PP" if i else ".SH NOTES", escaped(text))]


def info_keys(families):
    keys = {key: words for family in families for key, words in family.keys}
    items = [line for key, words in keys.items() for line in item(f".B {escaped(key)}", words)]
    return [".SH INFO KEYS"] + items if items else []


def return_value(function):
    if function.returns != "ERROR_CODE":
        return [".SH RETURN VALUE", "The value itself; there is no error code."]
    if page_errors.always_succeeds(function):
        return [".SH RETURN VALUE", "MPI_SUCCESS."]
    where = "are returned" if function.status == "tool" else "go " + page_errors.handler_of(function)
    more = "" if function.status == "tool" else " MPI_Error_string tells the argument and the cure."
    return [".SH RETURN VALUE", escaped(f"MPI_SUCCESS, or an error code. Errors {where}.{more}")]


def errors(function, families):
    found = page_errors.errors_of(function, families)
    if not found:
        return [".SH ERRORS", "None: the procedure checks nothing and cannot fail."]
    return [".SH ERRORS"] + [line for error_class, text in found
                             for line in item(TAGS.get(error_class, f".B {error_class}"), text + ".")]


def see_also(names):
    rows = []
    for i, name in enumerate(names):
        base, _, section = name.partition("(")
        rows.append(f".BR {escaped(base)} ({section}" + ("," if i + 1 < len(names) else ""))
    return [".SH SEE ALSO"] + rows


def page(function, functions, purposes, words, fortran):
    families = words.of(function)
    names = [function.c_name(big) for big in function.forms()]
    out = [".\\\" SPDX-License-Identifier: BSD-3-Clause", ".\\\" Generated by src/abi/generate.py; do not edit.",
           f'.TH {function.name.upper()} 3 "" "Herald" "Herald MPI"', ".nh", ".ad l", ".SH NAME",
           f"{', '.join(names)} \\- {escaped(purpose(function, purposes))}"]
    out += synopsis(function, fortran) + arguments(function, words, families) + notes(function, families)
    out += info_keys(families) + return_value(function) + errors(function, families)
    return "\n".join(out + see_also(related(function, functions, families))) + "\n"


def write_pages(functions, purposes, words, fortran):
    """{file name: text}; the _c form is a link to the page of the plain one. fortran(procedure): headings and lines."""
    out = {}
    for function in functions:
        out[f"{function.name}.3"] = page(function, functions, purposes, words, fortran)
        for big in function.forms():
            if big:
                out[f"{function.c_name(big)}.3"] = f".so man3/{function.name}.3\n"
    return out
