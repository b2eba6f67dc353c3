# SPDX-License-Identifier: BSD-3-Clause
"""Running labs: a folder for each below /run/herald-lab, with state.json, the table that lab/agent reads, and the
/etc/hosts of its hosts. A folder without state.json belongs to a lab whose `up` did not complete."""
import json
import os
import re
import shutil

from . import tool

ROOT = '/run/herald-lab'


def folder(name):
    return f'{ROOT}/{name}'


def check_name(name):
    if not re.fullmatch(r'[A-Za-z0-9][A-Za-z0-9_-]{0,30}', name):
        raise tool.LabError(f'--name {name}: letters, digits, - and _ only, at most 31')
    return name


def names():
    try:
        return sorted(entry for entry in os.listdir(ROOT) if os.path.isdir(folder(entry)))
    except FileNotFoundError:
        return []


def create(name):
    os.makedirs(ROOT, exist_ok=True)
    try:
        os.mkdir(folder(name))
    except FileExistsError:
        raise tool.LabError(f'lab {name} is up, or incompletely removed: run `herald-lab down --name {name}` first, '
                            'or choose another --name') from None


def save(lab):
    path = folder(lab['name']) + '/state.json'
    with open(path + '.new', 'w', encoding='utf-8') as file:
        json.dump(lab, file, indent=1)
    os.replace(path + '.new', path)


def load(name):
    try:
        with open(folder(name) + '/state.json', encoding='utf-8') as file:
            return json.load(file)
    except FileNotFoundError:
        others = [other for other in names() if other != name]
        more = f'; running: {", ".join(others)}' if others else ''
        raise tool.LabError(f'lab {name} is not up{more}: `herald-lab up 4 --name {name}` makes one') from None


def remove(name):
    shutil.rmtree(folder(name), ignore_errors=True)
    try:
        os.rmdir(ROOT)
    except OSError:
        pass  # there is another lab


def host(lab, name):
    for row in lab['hosts'] + [lab['head']]:
        if row['name'] == name:
            return row
    raise tool.LabError(f'no host {name} in lab {lab["name"]}: there are {lab["hosts"][0]["name"]} to '
                        f'{lab["hosts"][-1]["name"]}, and head')
