# SPDX-License-Identifier: BSD-3-Clause
"""Reads C and C++ as text: blanks out what is not code, finds includes and functions.

No compiler is used, so the rules work on files that do not build yet. Line numbers stay as they are.
"""
import bisect
import re

_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^\s()\\]{0,16})\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|'
    r"(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'", re.S)


def _blank(text):
    return re.sub(r'[^\n]', ' ', text)


def code_only(text):
    """The text with comments blanked out and the insides of strings blanked out."""
    def put(match):
        token = match.group(0)
        if token.startswith('/'):
            return _blank(token)
        return token[0] + _blank(token[1:-1]) + token[-1]
    return _TOKEN.sub(put, text)


def without_comments(text):
    """As code_only, but strings (and so the names of included files) stay."""
    return _TOKEN.sub(lambda m: _blank(m.group(0)) if m.group(0).startswith('/') else m.group(0), text)


def includes(text):
    """(line, name, quoted) of each include directive."""
    found = []
    for number, line in enumerate(without_comments(text).split('\n'), 1):
        match = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
        if match:
            found.append((number, match.group(2), match.group(1) == '"'))
    return found


def without_directives(code):
    lines, inside = [], False
    for line in code.split('\n'):
        directive = inside or line.lstrip().startswith('#')
        inside = directive and line.rstrip().endswith('\\')
        lines.append('' if directive else line)
    return '\n'.join(lines)


_SCOPE = re.compile(r'^\s*(template\s*<[^{}]*>\s*)?(export\s+)?(inline\s+)?'
                    r'(namespace|class|struct|union|enum|extern)\b')


def _is_scope(header):
    if not _SCOPE.match(header):
        return False
    # `struct S* f(int) {` is a function: a scope's head has no parameter list of its own.
    return not re.search(r'\b\w+\s*\(', re.sub(r'\b(alignas|__attribute__)\s*\(+[^)]*\)+', '', header))


def functions(text):
    """(name, first line, last line) of each function definition; lambdas belong to what holds them."""
    code = without_directives(code_only(text))
    found, stack, head_at = [], [], 0
    starts = [0] + [match.end() for match in re.finditer('\n', code)]

    def line_of(position):
        return bisect.bisect_right(starts, position)

    for match in re.finditer(r'[{};]', code):
        at, mark = match.start(), match.group(0)
        outside = all(kind == 'scope' for kind, _, _ in stack)
        if mark == '{':
            header = code[head_at:at]
            if not outside:
                kind = 'inner'
            elif _is_scope(header):
                kind = 'scope'
            elif '(' in header and not header.rstrip().endswith('='):
                kind = 'function'
            else:
                kind = 'inner'
            stack.append((kind, head_at, header))
        elif mark == '}' and stack:
            kind, begin, header = stack.pop()
            if kind == 'function':
                first = begin + re.match(r'(\s|(public|private|protected)\s*:)*', header).end()
                named = re.search(r'([A-Za-z_~][\w:~]*)\s*\(', header)
                found.append((named.group(1) if named else '?', line_of(first), line_of(at)))
        if all(kind == 'scope' for kind, _, _ in stack):
            head_at = at + 1
    return found
