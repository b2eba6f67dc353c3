# SPDX-License-Identifier: BSD-3-Clause
"""What the sources say about manual pages: the error classes that a procedure's function names, and info keys."""
import re

from cpp_text import functions

CLASS = re.compile(r"\bMPI_(?:T_)?ERR_[A-Z_]+\b")
CALLED = re.compile(r"\b([a-z]\w+)(?:<[^<>()]*>)?\(")
# Functions that several files of a folder call; others are followed inside their file only, since names repeat.
SHARED = {"topology_of", "check_intra", "check_rank", "deliver", "has_array", "at_least", "check_errhandler", "check_op",
          "refuse", "fail_conflict", "agree_on", "check_individual", "seek_to", "lost_owner", "check_count",
          "fail_lost", "active_request", "is_intra"}
# Where keys of info objects are: file, pattern of a key. A file whose pattern finds nothing is an error.
KEYS = (
    ("src/mpi", r'info_value\([^;"]*"([\w-]+)"'),
    ("src/mpi", r'info_put\([^;"]*?, "([\w-]+)"'),
    ("src/mpi/comm/info.cpp", r'"(mpi_assert_\w+)"'),
    ("src/mpi/comm/split_type.cpp", r'kKindKey = "(\w+)"'),
    ("src/mpi/core/hardware.hpp", r'"([a-z]+)"'),
    ("src/mpi/rma/properties.cpp", r'\{"(\w+)", "[^"]*"\}'),
    ("src/io/hints.cpp", r'\{"(\w+)", &Hints'),
    ("src/io/hints.cpp", r'key == "(\w+)"'),
    ("src/boot/pmix_spawn.cpp", r'value_of\(app, "([\w-]+)"'),
    ("src/boot/pmix_spawn.cpp", r'first == "([\w-]+)"'),
    ("launch/pmi_jobs.cpp", r'key == "([\w-]+)"'),
)


def sources(folder):
    return sorted([*folder.rglob("*.cpp"), *folder.rglob("*.hpp")]) if folder.is_dir() else [folder]


def read(path):
    return re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))


def info_keys(root):
    """({key}, complaints)"""
    keys, complaints = set(), []
    for place, pattern in KEYS:
        found = {key for path in sources(root / place) for key in re.findall(pattern, read(path))}
        keys |= found
        if not found:
            complaints.append(f"manual_sources.py: {place} has no key of the pattern {pattern}")
    return keys, complaints


def bodies_of(path):
    """{name: text} of the functions of a file, without comments."""
    text = path.read_text(encoding="utf-8")
    rows, out = text.split("\n"), {}
    for name, first, last in functions(text):
        short = name.split("::")[-1]
        out[short] = out.get(short, "") + re.sub(r"//[^\n]*", "", "\n".join(rows[first - 1:last]) + "\n")
    return out


def classes_by_function(root):
    """({name of a function in namespace api: error classes}, complaints): the classes in it, in functions of its file that
    it calls, and in those of SHARED."""
    files = [bodies_of(path) for path in sources(root / "src" / "mpi")]
    shared = {name: reached(name, bodies, {}) for bodies in files for name in bodies if name in SHARED}
    out = {}
    for bodies in files:
        for name, body in bodies.items():
            if re.search(rf"\bint (?:api::)?{name}\(Call&", body):
                out[name] = out.get(name, set()) | reached(name, bodies, shared)
    return out, [f"manual_sources.py: there is no {name}() with an error class" for name in SHARED if not shared.get(name)]


def reached(name, bodies, shared):
    seen, queue, classes = {name}, [name], set()
    while queue:
        body = bodies[queue.pop()]
        classes |= set(CLASS.findall(body))
        for called in CALLED.findall(body):
            classes |= shared.get(called, set())
            if called in bodies and called not in seen:
                seen.add(called)
                queue.append(called)
    return classes
