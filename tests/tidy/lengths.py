# SPDX-License-Identifier: BSD-3-Clause
"""How long files and functions may be."""
import ast

from cpp_text import functions

FILE_LINES = 400
HEADER_LINES = 300
FUNCTION_LINES = 70
LIMITS = f'files have at most {FILE_LINES} lines, headers {HEADER_LINES}, functions {FUNCTION_LINES}'
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
