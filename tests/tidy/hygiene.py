# SPDX-License-Identifier: BSD-3-Clause
"""Small rules for every file: licence line, no notes to self, no private paths, nothing that no build uses."""
import fnmatch
import os
import re

LICENCE = 'SPDX-License-Identifier: BSD-3-Clause'
_NOTES = re.compile(r'\b(' + '|'.join(['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X', 'HA' + 'CK']) + r')\b')
_PRIVATE = re.compile(r'/home/\w|/ro' + r'ot/|/Us' + r'ers/\w|/tmp/w' + r't\b|(?<![\w.$}])/wo' + r'rk/')
# CTest takes a match of it for success and ignores the exit code.
_OUTPUT_ONLY = re.compile(r'\b(PASS|FAIL)_REGULAR_' + 'EXPRESSION')
_SOURCE = ('.c', '.cpp', '.h', '.hpp', '.py', '.cmake', '.def', '.sh')
_COMPILED = ('.c', '.cpp')
_BUILT = ('src', 'launch', 'tools', 'tests', 'examples', 'bench', 'sim')


def wants_licence(path, text):
    name = os.path.basename(path)
    return text != '' and path.endswith(_SOURCE) or name in ('CMakeLists.txt', 'Makefile') or text.startswith('#!')


def check(path, text):
    """Complaints about one file, as (line, words)."""
    found = []
    lines = text.split('\n')
    if wants_licence(path, text):
        first = lines[1] if lines[0].startswith('#!') and len(lines) > 1 else lines[0]
        if LICENCE not in first:
            found.append((1, f'the first line must hold "{LICENCE}" (the second after #!)'))
    for number, line in enumerate(lines, 1):
        note = _NOTES.search(line)
        if note:
            found.append((number, f'{note.group(1)}: write it, or leave it out'))
        if _PRIVATE.search(line):
            found.append((number, 'names a path of one machine or person'))
        if _OUTPUT_ONLY.search(line) and path.endswith(('CMakeLists.txt', '.cmake')):
            found.append((number, 'the exit code decides; tests/expect.py looks at the output too'))
    return found


def _named_in(build, folder, path):
    """True if the CMake text `build` of `folder` names the file: by path, by name, by stem or by pattern."""
    inside = os.path.relpath(path, folder or '.').replace(os.sep, '/')
    stem = os.path.splitext(inside)[0]
    names = {inside, os.path.basename(inside), stem, os.path.basename(stem)}
    words = set(re.split(r'[\s()"]+', re.sub(r'(?m)#.*$', '', build)))
    if names & words or any(word.endswith('/' + inside) for word in words):
        return True
    for pattern in re.findall(r'file\(\s*GLOB(?:_RECURSE)?\b([^)]*)\)', build):
        for word in pattern.split():
            word = word.split('}/')[-1]
            if '*' in word and (fnmatch.fnmatch(inside, word) or fnmatch.fnmatch(os.path.basename(inside), word)):
                return True
    return False


def dead(files):
    """Sources that no CMakeLists.txt above them names, and headers that no file includes: [(path, words)]."""
    found = []
    builds = {os.path.dirname(path): text for path, text in files.items()
              if os.path.basename(path) == 'CMakeLists.txt'}
    included = set()
    for path, text in files.items():
        for name in re.findall(r'#\s*include\s*["<]([^">]+)[">]', text):
            included.add(name)
            included.add(os.path.normpath(os.path.join(os.path.dirname(path), name)))
    for path in sorted(files):
        if path.split('/')[0] not in _BUILT:
            continue
        if path.endswith(_COMPILED) and not any(
                _named_in(text, folder, path) for folder, text in builds.items()
                if folder == '' or path.startswith(folder + '/')):
            found.append((path, 'no CMakeLists.txt builds it'))
        if path.endswith(('.h', '.hpp', '.def')) and path not in included and not any(
                path.endswith('/' + name) for name in included):
            found.append((path, 'nothing includes it'))
    return found


def rooms_without_readme(files):
    """Folders of src/ and the other rooms that hold code but no README.md."""
    rooms = set()
    for path in files:
        parts = path.split('/')
        if path.endswith(('.c', '.cpp', '.hpp', '.h', '.py')):
            if parts[0] == 'src' and len(parts) > 2:
                rooms.add('/'.join(parts[:2]))
            elif parts[0] in ('launch', 'tools', 'examples', 'bench', 'tests', 'sim', 'lab'):
                rooms.add(parts[0])
    return [(room, 'has no README.md') for room in sorted(rooms) if f'{room}/README.md' not in files]


def unknown_names(files, page='docs/ARCHITECTURE.md'):
    """Functions that the page names, as `name()` or `Class::name()`, and that no source has any more."""
    code = '\n'.join(text for path, text in files.items() if path.startswith('src/'))
    found = []
    for line, row in enumerate(files.get(page, '').split('\n'), 1):
        for name in re.findall(r'`(?:\w+::)*(\w+)\(\)`', row):
            if not re.search(rf'\b{name}\s*\(', code):
                found.append((f'{page}:{line}', f'{name}() is not in src/ any more'))
    return found
