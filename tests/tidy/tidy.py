#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""House rules, checked on the text of the repository.

    tidy.py [CHECK]...   layers lengths classes hygiene documents words subjects (all by default);
                         exit code 1 if anything is found
    tidy.py --tighten    lower ratchet.json to what is there
Needs Python's standard library only, and no git.
"""
import functools
import os
import sys

import classes
import hygiene
import layers
import lengths
import ratchet
import words

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SKIP = {'build', '.git', '.cache', '__pycache__', '.venv'}


def read_tree(root):
    """{path from the root: text} of all text files."""
    files = {}
    for folder, names, entries in os.walk(root):
        names[:] = sorted(n for n in names if n not in SKIP and not n.startswith('build-'))
        for entry in sorted(entries):
            full = os.path.join(folder, entry)
            if os.path.islink(full) or entry == '.git':
                continue
            with open(full, 'rb') as file:
                data = file.read()
            if b'\0' in data:
                continue
            files[os.path.relpath(full, root).replace(os.sep, '/')] = data.decode('utf-8', 'replace')
    return files


def check_layers(files):
    return [f'{path}:{line}: {words}' for path, text in files.items()
            if path.endswith(('.c', '.cpp', '.h', '.hpp', '.def', '.in'))
            for line, words in layers.check(path, text)]


def all_lengths(files):
    over = {}
    for path, text in files.items():
        over.update(lengths.measure(path, text))
    return over


# Checks with a ratchet: (measure, limits).
RATCHETED = {'lengths': (all_lengths, lengths.LIMITS), 'classes': (classes.measure, classes.LIMITS),
             **{name: (functools.partial(words.measure, name), limits) for name, limits in words.LIMITS.items()}}


def check_ratchet(name, files):
    measure, limits = RATCHETED[name]
    return [f'{key}: {complaint}'
            for key, complaint in ratchet.compare(measure(files), ratchet.load().get(name, {}), limits)]


def check_hygiene(files):
    found = [f'{path}:{line}: {words}' for path, text in files.items() for line, words in hygiene.check(path, text)]
    found += [f'{path}: {words}' for path, words in hygiene.dead(files)]
    found += [f'{path}: {words}' for path, words in hygiene.rooms_without_readme(files)]
    found += [f'{place}: {words}' for place, words in hygiene.unknown_names(files)]
    return found


CHECKS = {'layers': check_layers, 'hygiene': check_hygiene,
          **{name: functools.partial(check_ratchet, name) for name in RATCHETED}}


def main(arguments):
    files = read_tree(ROOT)
    if arguments == ['--tighten']:
        ratchet.save({name: ratchet.tighten(RATCHETED[name][0](files), entries)
                      for name, entries in ratchet.load().items()})
        return 0
    unknown = [name for name in arguments if name not in CHECKS]
    if unknown:
        print(f'tidy.py: unknown check {unknown[0]}; there are {", ".join(CHECKS)}', file=sys.stderr)
        return 2
    found = [line for name in arguments or CHECKS for line in CHECKS[name](files)]
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
