# SPDX-License-Identifier: BSD-3-Clause
"""Which error classes a procedure gives: by the checks of its entry point (stubs.py), and by manual.tbl."""
import re

from gen import stubs, table

CLASSES = {"COMMUNICATOR": "MPI_ERR_COMM", "DATATYPE": "MPI_ERR_TYPE", "GROUP": "MPI_ERR_GROUP", "INFO": "MPI_ERR_INFO",
           "ERRHANDLER": "MPI_ERR_ERRHANDLER", "OPERATION": "MPI_ERR_OP", "SESSION": "MPI_ERR_SESSION",
           "WINDOW": "MPI_ERR_WIN", "FILE": "MPI_ERR_FILE"}
NOUNS = {"COMMUNICATOR": "communicator", "DATATYPE": "datatype", "GROUP": "group", "INFO": "info object",
         "ERRHANDLER": "error handler", "OPERATION": "operation", "SESSION": "session", "WINDOW": "window", "FILE": "file"}
# Name of the check in the entry point: class, words behind the names of the arguments.
CHECKS = {
    "check_count": ("MPI_ERR_COUNT", "is negative"),
    "check_length": ("MPI_ERR_ARG", "is negative"),
    "check_disp": ("MPI_ERR_DISP", "is negative"),
    "check_dest": ("MPI_ERR_RANK", "is neither a rank of the {place} nor MPI_PROC_NULL"),
    "check_source": ("MPI_ERR_RANK", "is neither a rank of the communicator nor MPI_ANY_SOURCE nor MPI_PROC_NULL"),
    "check_root": ("MPI_ERR_ROOT", "is no rank of the communicator; of an inter-communicator also MPI_ROOT and "
                                   "MPI_PROC_NULL are allowed"),
    "check_tag": ("MPI_ERR_TAG", "is negative"),
    "check_recv_tag": ("MPI_ERR_TAG", "is negative and not MPI_ANY_TAG"),
    "check_pointer": ("MPI_ERR_ARG", "is a null pointer"),
    "check_buffer": ("MPI_ERR_BUFFER", "is a null pointer, but there is data to move"),
}
TOO_LARGE = ("MPI_ERR_COUNT", "gives more bytes than 64 bits can address")
NOT_LIVE = ("MPI_ERR_OTHER", "MPI is not started: before MPI_Init or MPI_Session_init, or after the end")
NO_TOOL = ("MPI_T_ERR_NOT_INITIALIZED", "MPI_T_init_thread was not called")


def handle_words(p, null_allowed):
    noun = NOUNS[p.kind]
    return f"is neither null nor {article(noun)}" if null_allowed else f"is no {noun}: null, never made, or freed"


def article(noun):
    return ("an " if noun[0] in "aeiou" else "a ") + noun


def checked(function):
    """(class, words, argument) of each check that the entry point makes."""
    params = {p.name: p for p in function.params}
    found = [(CLASSES[p.kind], handle_words(p, False), p.name) for p in function.params
             if p.direction == "inout" and p.kind in CLASSES and not p.array and function.status != "tool"]
    for line in stubs.checks(function, False):
        match = re.search(r"(call\.object|call\.maybe|committed_for|committed|check_\w+)\((.*)\)", line)
        if match is None:
            continue
        arguments = [word.strip() for word in match.group(2).split(",")]
        name = next(word for word in arguments if word in params and (match.group(1) != "committed_for" or
                                                                      params[word].kind == "DATATYPE"))
        p = params[name]
        if match.group(1) in ("call.object", "call.maybe"):
            found.append((CLASSES[p.kind], handle_words(p, match.group(1) == "call.maybe"), name))
        elif match.group(1).startswith("committed"):
            found.append(("MPI_ERR_TYPE", "is no datatype, or not committed", name))
        else:
            error_class, words = CHECKS[match.group(1)]
            if match.group(1) == "check_root" and function.status != "coll":
                words = words.partition(";")[0]  # an inter-communicator is refused
            found.append((error_class, words.format(place="window" if function.status == "rma" else "communicator"), name))
            if match.group(1) == "check_buffer":
                found.append((*TOO_LARGE, arguments[2]))
    return found


def joined(names):
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " or " + names[-1]


def always_succeeds(function):
    return stubs.generated_whole(function) or function.name == "MPI_Pcontrol"


def errors_of(function, families):
    """[(class, words)], each class once: those of the entry point, of the families, and of a library without MPI_Init."""
    if always_succeeds(function):
        return []
    grouped = {}
    for error_class, words, name in checked(function):
        grouped.setdefault((error_class, words), [])
        if name not in grouped[error_class, words]:
            grouped[error_class, words].append(name)
    lines = [(error_class, f"{joined(names)} {words}") for (error_class, words), names in grouped.items()]
    lines += [error for family in families for error in family.errors]
    if function.status == "tool":
        lines += [NO_TOOL] if function.name != "MPI_T_init_thread" else []
    elif function.when == "live":
        lines.append(NOT_LIVE)
    out = {}
    for error_class, words in lines:
        if words not in out.setdefault(error_class, []):
            out[error_class].append(words)
    return [(error_class, "; ".join(words)) for error_class, words in out.items()]


def handler_of(function):
    """In words: to which error handler the errors of a procedure go."""
    if function.name in stubs.OWN_ERRHANDLER:
        return "to the error handler of the argument errhandler"
    if function.name in ("MPI_Init", "MPI_Init_thread"):
        return "to the handler that HERALD_INITIAL_ERRHANDLER names, which by default ends the job"
    kinds = {p.kind for p in function.params if p.direction != "out" and p.kind in table.HANDLES}
    if function.name in ("MPI_File_open", "MPI_File_delete", "MPI_Register_datarep"):
        return "to the error handler of MPI_FILE_NULL, which by default returns them"
    if stubs.about_files(function):
        return "to the error handler of the file, which by default returns them"
    for kind, noun in (("WINDOW", "window"), ("COMMUNICATOR", "communicator"), ("SESSION", "session")):
        if kind in kinds:
            return f"to the error handler of the {noun}, which by default ends the job"
    if "MESSAGE" in kinds:
        return "to the error handler of the communicator of the message"
    if "REQUEST" in kinds:
        return "to the error handler of the communicator, window or file of the operation"
    return "to the error handler of MPI_COMM_SELF, which by default ends the job"
