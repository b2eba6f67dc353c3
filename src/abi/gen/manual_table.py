# SPDX-License-Identifier: BSD-3-Clause
"""Reads manual.tbl: words for arguments, and families of pages with notes, errors, info keys and related pages."""
from dataclasses import dataclass, field
from fnmatch import fnmatchcase


@dataclass
class Family:
    title: str
    patterns: list
    notes: list = field(default_factory=list)
    errors: list = field(default_factory=list)  # (class, words)
    args: dict = field(default_factory=dict)    # name of an argument: words
    keys: list = field(default_factory=list)    # (info key, words)
    see: list = field(default_factory=list)     # names without MPI_, or of pages of other sections, as herald(1)

    def has(self, function):
        """Whether a page belongs to the family: the last pattern that matches decides."""
        member = False
        for pattern in self.patterns:
            wanted = pattern[0] != "!"
            if matches(pattern.lstrip("!"), function):
                member = wanted
        return member


@dataclass
class Words:
    kinds: dict = field(default_factory=dict)     # by kind, its begin and *, or kind/direction
    names: dict = field(default_factory=dict)     # by the name of an argument
    families: list = field(default_factory=list)

    def of(self, function):
        return [family for family in self.families if family.has(function)]

    def kind(self, kind, direction="in"):
        if f"{kind}/{direction}" in self.kinds:
            return self.kinds[f"{kind}/{direction}"]
        found = [key for key in self.kinds if key == kind or key[-1] == "*" and kind.startswith(key[:-1])]
        return self.kinds[max(found, key=len)] if found else None


def matches(pattern, function):
    """@part: all procedures of a part of src/mpi; X+: the three forms of a collective; else a name with wildcards."""
    if pattern[0] == "@":
        return function.status == pattern[1:]
    if pattern[-1] == "+":
        return function.family is not None and fnmatchcase(function.family[4:], pattern[:-1])
    return fnmatchcase(function.name[4:], pattern)


def rows(path):
    """(whether it is indented, text) of each row; rows that are indented more than once continue the one before."""
    out = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.strip() or line[0] == "#":
            continue
        depth = len(line) - len(line.lstrip(" "))
        if depth > 2:
            out[-1] = (out[-1][0], out[-1][1] + " " + line.strip())
        else:
            out.append((depth > 0, line.strip()))
    return out


def add_to(family, word, rest):
    first, _, more = rest.partition(" ")
    if word == "note":
        family.notes.append(rest)
    elif word == "see":
        family.see += rest.split()
    elif word == "error":
        family.errors.append((first, more))
    elif word == "key":
        family.keys.append((first, more))
    elif word == "arg":
        family.args[first] = more
    else:
        raise ValueError(f"{family.title}: unknown word {word!r}")


def read(path):
    words = Words()
    general = {"kind": words.kinds, "name": words.names}
    for indented, text in rows(path):
        word, _, rest = text.partition(" ")
        if indented:
            add_to(words.families[-1], word, rest)
        elif word == "family":
            title, _, patterns = rest.partition(": ")
            words.families.append(Family(title, patterns.split()))
        else:
            first, _, more = rest.partition(" ")
            general[word][first] = more
    return words
