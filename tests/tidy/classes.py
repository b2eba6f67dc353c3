# SPDX-License-Identifier: BSD-3-Clause
"""How large a class may be: methods, data members, and source files that define its members."""
import cpp_classes

METHODS = 30
DATA = 25
SOURCES = 2
LIMITS = f'a class has at most {METHODS} methods and {DATA} data members, defined in {SOURCES} source files'
_TOPS = ('src', 'sim', 'launch', 'tools')


def measure(files):
    """{key: figure} of what is too large; files is {path: text} of the whole tree."""
    classes, sources = cpp_classes.count({
        path: text for path, text in files.items()
        if path.split('/')[0] in _TOPS and path.endswith(('.hpp', '.h', '.cpp'))})
    over = {}
    for one in classes:
        key = '::'.join(part for part in one.name.split('::') if part != 'herald' and '(' not in part)
        for what, figure, limit in (('methods', one.methods, METHODS), ('data members', one.data, DATA),
                                    ('source files', len(sources.get(one.name, ())), SOURCES)):
            if figure > limit:
                over[f'{key} {what}'] = max(figure, over.get(f'{key} {what}', 0))
    return over
