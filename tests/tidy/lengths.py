# SPDX-License-Identifier: BSD-3-Clause
"""How long files and functions may be. What is too long already stands in ratchet.json with its length, and
may only get shorter: a longer or a new offender is a complaint, and so is an entry that is larger than needed."""
import ast
import json

from cpp_text import functions

FILE_LINES = 400
HEADER_LINES = 300
FUNCTION_LINES = 70
CODE = ('.c', '.cpp', '.h', '.hpp', '.py')


def measure(path, text):
    """{key: length} of what is too long in one file."""
    if not path.endswith(CODE):
        return {}
    over = {}
    lines = text.count('\n') + (not text.endswith('\n') and text != '')
    if lines > (HEADER_LINES if path.endswith(('.h', '.hpp')) else FILE_LINES):
        over[path] = lines
    for name, first, last in _functions(path, text):
        if last - first + 1 > FUNCTION_LINES:
            over[f'{path}:{name}'] = max(last - first + 1, over.get(f'{path}:{name}', 0))
    return over


def _functions(path, text):
    if not path.endswith('.py'):
        return functions(text)
    return [(node.name, node.lineno, node.end_lineno) for node in ast.walk(ast.parse(text))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def compare(over, ratchet):
    """Complaints about all files together, as (key, words)."""
    found = []
    for key, length in sorted(over.items()):
        if key not in ratchet:
            found.append((key, f'{length} lines: too long (files {FILE_LINES}, headers {HEADER_LINES}, '
                               f'functions {FUNCTION_LINES})'))
        elif length > ratchet[key]:
            found.append((key, f'{length} lines: grew from {ratchet[key]}; it may only get shorter'))
    for key, length in sorted(ratchet.items()):
        if over.get(key, 0) < length:
            found.append((key, 'is shorter now than ratchet.json says: run tests/tidy/tidy.py --tighten'))
    return found


def tighten(over, ratchet):
    """The ratchet with every entry lowered to what is there; nothing is added or raised."""
    return {key: min(length, over[key]) for key, length in sorted(ratchet.items()) if key in over}


def load(path):
    with open(path, encoding='utf-8') as file:
        return json.load(file)


def save(path, ratchet):
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(ratchet, file, indent=1, sort_keys=True)
        file.write('\n')
