# SPDX-License-Identifier: BSD-3-Clause
"""Counts the methods and data members of C++ classes, and the source files that define their members, in text.

Overloads, constructors, destructors, operators and defaulted functions count as methods, deleted ones do not. Types,
friends and static constants do not count as data. A nested class counts apart, an anonymous one belongs to its holder.
"""
import re
from dataclasses import dataclass

from cpp_text import code_only, without_directives

_LABEL = re.compile(r'^(\s*(public|private|protected)\s*:(?!:))+')
_BRACKETS = re.compile(r'\b(?:alignas|noexcept|explicit|requires|decltype|__attribute__)\s*\(+\)+')
_CLASS = re.compile(r'(?:class|struct|union)\b(?:\s+[A-Z_0-9]+(?=\s+(?!final\b)\w))?\s*(?P<name>(?:\w+::)*\w*)\s*'
                    r'(?:final\b\s*)?(?::(?!:)|$)')
_SPACE = re.compile(r'(?:inline\s+)?namespace\b\s*(?P<name>[\w:]*)\s*$')
_NO_MEMBER = re.compile(r'(using|typedef|friend|static_assert|extern)\b')
_FORWARD = re.compile(r'(enum(\s+(class|struct))?|class|struct|union)(\s+[\w:]+?)?\s*(:\s*[\w:]+\s*)?(\{\})?$')
_POINTER = re.compile(r'\(\s*(?:\w+::)*[*&]')
_CONSTANT = re.compile(r'\bstatic\b.*\bconst(expr)?\b|\bconstexpr\b')
_MEMBER_OF = re.compile(r'((?:\w+\s*::\s*)+)(?:~?\w+|operator.*?)\s*\(')


def _without_arguments(text):
    """Template argument lists taken out, from the innermost; `operator<` and comparisons stay."""
    while True:
        shorter = re.sub(r'(?<!operator)(?<=\w)\s*<(?:[^<>();{}=]|\([^<>()]*\)|(?<=[\w)])\s*==?\s*(?=\w))*>', '', text)
        if shorter == text:
            return text
        text = shorter


def _flat(text):
    """The insides of parentheses and brackets taken out, but for those of (*pointer)."""
    while (shorter := re.sub(r'\((?!\s*(?:\w+::)*[*&])(?:[^()]|\(\))+\)', '()', text)) != text:
        text = shorter
    return re.sub(r'\[[^\[\]]+\]', '[]', text)


def _head(text):
    """A declaration without labels, template prefix, attributes, and the insides of parentheses."""
    text = _LABEL.sub('', text.strip()).strip()
    text = _BRACKETS.sub('', _flat(re.sub(r'\[\[.*?\]\]', '', text, flags=re.S)))
    text = _without_arguments(text)
    text = re.sub(r'^(template\b\s*(requires\b[^;{]*?(?=\b(?:class|struct|union|void|auto)\b))?)+', '', text)
    return re.sub(r'\s+', ' ', text).strip()


def _is_function(head):
    """True if a parameter list comes before any initializer."""
    if re.search(r'\boperator\b', head):
        return True
    mark = re.search(r'[({=]', head)
    return bool(mark) and mark.group(0) == '(' and not _POINTER.match(head, mark.start())


def _opens_body(head):
    """True if a brace after this head of a function is its body, and not an initializer of a member."""
    return not re.search(r'\)[^:]*(?<!:):(?!:).*[\w>]$', head)


@dataclass
class Class:
    """What one class holds. `name` has its namespaces and holders; `path` and `line` say where it is defined."""
    name: str
    path: str
    line: int
    methods: int = 0
    data: int = 0


class _Scanner:
    """Walks over declarations at the level of namespaces and classes; bodies of functions are skipped."""

    def __init__(self, path, text):
        self.path = path
        self.code = without_directives(code_only(text))
        self.scopes = []    # (name or '', Class or None), the innermost last
        self.classes = []
        self.members = []   # (names of the namespaces around, qualifier) of members defined outside of their class
        self.head = ''      # of the declaration that is being read, initializers as {}
        self.closed = None  # (name, Class) that ended before the head, of `struct S {} head;`

    def scan(self):
        at = depth = 0
        while mark := re.compile(r'[{}();]').search(self.code, at):
            self.head += self.code[at:mark.start()]
            at, sign = mark.end(), mark.group(0)
            if sign in '()':
                depth += 1 if sign == '(' else -1
                self.head += sign
            elif sign == '{':
                at = self._open(at) if depth == 0 else self._skip(at)
            elif sign == '}':
                self._close()
            elif depth == 0:
                self._declare()
                self.head, self.closed = '', None
            else:
                self.head += sign
        return self

    def _skip(self, at):
        depth = 1
        for mark in re.compile(r'[{}]').finditer(self.code, at):
            depth += 1 if mark.group(0) == '{' else -1
            if depth == 0:
                self.head += '{}'
                return mark.end()
        return len(self.code)

    def _open(self, at):
        head = _head(self.head)
        if _SPACE.match(head) or head in ('extern " "', 'extern ""'):
            space = _SPACE.match(head)
            self._push((space.group('name') or f'({self.path})') if space else '', None)
            return at
        if _CLASS.match(head):
            name = _CLASS.match(head).group('name')
            made = Class('::'.join(self._names() + [name]), self.path, self.code.count('\n', 0, at) + 1)
            if name:
                self.classes.append(made)
            self._push(name, made)
            return at
        end = self._skip(at)
        if _is_function(head) and _opens_body(head):
            self._declare()
            self.head = ''
        return end

    def _push(self, name, made):
        self.scopes.append((name, made))
        self.head = ''

    def _close(self):
        self.head = ''
        self.closed = self.scopes.pop() if self.scopes else ('', None)
        if not self.closed[1]:
            self.closed = None

    def _names(self):
        return [part for name, _ in self.scopes for part in name.split('::') if part]

    def _declare(self):
        head = _head(self.head)
        holder = self.scopes[-1][1] if self.scopes else None
        if self.closed:
            if holder and head:
                holder.data += 1 + head.count(',')
            elif holder and not self.closed[0]:  # anonymous
                holder.data += self.closed[1].data
        elif not head or _NO_MEMBER.match(head) or _FORWARD.match(head):
            return
        elif _is_function(head):
            if holder:
                holder.methods += not re.search(r'=\s*delete\s*$', head)
            elif found := _MEMBER_OF.search(head):
                self.members.append((self._names(), re.sub(r'\s', '', found.group(1)).split('::')[:-1]))
        elif holder and not _CONSTANT.match(head):
            holder.data += 1 + head.count(',')


def scan(path, text):
    """(classes, members defined outside of their class) of one file."""
    scanner = _Scanner(path, text).scan()
    return scanner.classes, scanner.members


def _resolve(path, names, qualifier, known):
    for kept in range(len(names), -1, -1):
        for hidden in ([], [f'({path})']):
            name = '::'.join(names[:kept] + hidden + qualifier)
            if name in known:
                return name
    return None


def count(files):
    """(classes, {name of a class: source files that define its members}) of {path: text}."""
    classes, outside = [], []
    for path, text in files.items():
        found, members = scan(path, text)
        classes += found
        outside += [(path, names, qualifier) for names, qualifier in members]
    known = {one.name for one in classes}
    sources = {}
    for path, names, qualifier in outside:
        name = _resolve(path, names, qualifier, known)
        if name and path.endswith(('.cpp', '.c')):
            sources.setdefault(name, set()).add(path)
    return classes, sources
