# SPDX-License-Identifier: BSD-3-Clause
"""Language: names and comments are in the words of the field, documents have lines that fit a terminal."""
import re

DOCUMENT_COLUMNS = 120
LIMITS = {
    'documents': f'lines of a document have at most {DOCUMENT_COLUMNS} characters, tables and links excepted',
    'words': 'private words: docs/glossary.md has the word of the field',
    'subjects': 'sentences whose subject is a bare Who or What: name the actor',
}
_TOPS = ('src', 'sim', 'docs', 'lab', 'tools', 'launch')
_STEMS = ('muster', 'tidings', 'doze(?!n)', 'hush', 'forgive', 'thefts', 'tender', 'excuse')
_NAMES = ('lie_down', 'see_off', 'get_up', 'come_in')
_PRIVATE = re.compile('|'.join(
    [rf'(?<![A-Za-z]){stem}|{stem.capitalize()}|(?<![A-Z]){stem.upper()}' for stem in _STEMS] +
    [rf'(?<![a-z]){name}(?![a-z])' for name in _NAMES] + ['SaidBook']))
_SUBJECT = re.compile(r'(?:^\s*(?i:who|what)(?:ever)?|(?<=[.!?)]\s)(?:Who|What)(?:ever)?)\s+(?!could go wrong)'
                      r'[^.!?]*(?:[.!]|$)')
_LINE_COMMENTS = re.compile(r'(?:(?:^|(?<=\s))//[^\n]*(?:\n[ \t]*(?=//))?)+', re.M)
_HASH_COMMENTS = re.compile(r'(?:(?:^|(?<=\s))#(?!!)[^\n]*(?:\n[ \t]*(?=#))?)+', re.M)
_BLOCKS = re.compile(r'/\*(.*?)\*/', re.S)
_DOCSTRINGS = re.compile(r'^\s*"""(.*?)"""', re.S | re.M)
_HASHED = ('.py', '.sh', '.cmake', 'CMakeLists.txt')


def in_scope(path):
    return path.split('/')[0] in _TOPS and not path.startswith('docs/decisions/')


def long_lines(text):
    """The number of lines that are too long, outside of tables, code blocks and lines that one link makes long."""
    count, code = 0, False
    for line in text.split('\n'):
        code ^= line.lstrip().startswith('```')
        without_links = re.sub(r'\]\([^)]*\)|<?https?://\S+', '', line)
        count += not code and not line.lstrip().startswith('|') and len(without_links) > DOCUMENT_COLUMNS
    return count


def private_words(text):
    return len(_PRIVATE.findall(text))


def comments(path, text):
    """The comments of a file, each as one line of prose; of a document its paragraphs."""
    if path.endswith('.md'):
        rows = ['' if re.match(r'\s*(#|\||```)', row) else row for row in text.split('\n')]
        found = re.split(r'\n\s*\n|\n\s*(?=[-*] )', '\n'.join(rows))
    elif path.endswith(_HASHED):
        found = _HASH_COMMENTS.findall(text) + _DOCSTRINGS.findall(text)
    else:
        found = _LINE_COMMENTS.findall(text) + _BLOCKS.findall(text)
    return [re.sub(r'\s+', ' ', re.sub(r'^\s*(//|#|[-*] )', '', one, flags=re.M)).strip() for one in found]


def bare_subjects(path, text):
    return sum(len(_SUBJECT.findall(one)) for one in comments(path, text))


def measure(check, files):
    """{path: figure} of the whole tree for one of the checks."""
    over = {}
    for path, text in files.items():
        if check == 'documents':
            figure = path.endswith('.md') and path != 'CHANGELOG.md' and long_lines(text)
        elif check == 'words':
            figure = in_scope(path) and private_words(text)
        else:
            figure = in_scope(path) and bare_subjects(path, text)
        if figure:
            over[path] = figure
    return over
