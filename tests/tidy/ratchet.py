# SPDX-License-Identifier: BSD-3-Clause
"""Limits that some things break already. ratchet.json lists these offenders with their figures, by check. A figure may
only fall: a new or larger one is a complaint, and so is an entry that is larger than needed."""
import json
import os

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'ratchet.json')


def compare(over, entries, limits):
    """Complaints about {key: figure} of what is over a limit, as (key, words)."""
    found = []
    for key, figure in sorted(over.items()):
        if key not in entries:
            found.append((key, f'{figure}: over the limit ({limits})'))
        elif figure > entries[key]:
            found.append((key, f'{figure}: grew from {entries[key]}; it may only fall'))
    for key, figure in sorted(entries.items()):
        if over.get(key, 0) < figure:
            found.append((key, f'{over.get(key, "nothing")} now, not {figure}: run tests/tidy/tidy.py --tighten'))
    return found


def tighten(over, entries):
    """The entries lowered to what is there; nothing is added or raised."""
    return {key: min(figure, over[key]) for key, figure in sorted(entries.items()) if key in over}


def load():
    with open(PATH, encoding='utf-8') as file:
        return json.load(file)


def save(ratchet):
    with open(PATH, 'w', encoding='utf-8') as file:
        json.dump(ratchet, file, indent=1, sort_keys=True)
        file.write('\n')
