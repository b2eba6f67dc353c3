#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""write.py STYLE PREFIX OUT: writes the program that calls every procedure of a binding (mpif, mpi, f08), by the names
with or without P. It fails if script.txt leaves out a procedure of the table."""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / 'src'))
sys.path.insert(0, str(ROOT / 'fortran'))
from abi.gen import table  # noqa: E402
from gen import facts  # noqa: E402

# The frame of the program calls these itself; MPI_Abort ends another run.
ELSEWHERE = {'MPI_Init', 'MPI_Init_thread', 'MPI_Finalize', 'MPI_Abort', 'MPI_Abi_set_fortran_booleans',
             'MPI_Abi_set_fortran_info'}
INCLUDES = {'mpif': "include 'mpif.h'", 'mpi': 'use mpi', 'f08': 'use mpi_f08'}
TYPES = [t[4:] for t in facts.ALL_HANDLES.values()]


class Writer:
    def __init__(self, style, prefix):
        self.style, self.prefix = style, prefix
        functions = table.read_functions(ROOT / 'src/abi/api.tbl')
        self.functions = {f.name: f for f in functions if facts.has_fortran(f)}
        self.called = set()
        self.names = []

    def chosen(self, line):
        """The text of a line for this binding; None if it is for another."""
        match = re.match(r'(old|mpi|f08)\|\s*(.*)', line)
        if not match:
            return line
        style = 'old' if match[1] == 'old' and self.style != 'f08' else self.style
        return match[2] if match[1] == style else None

    def arguments(self, function, text, big):
        text = re.sub(r'\{([^}]*)\},?\s*', lambda m: m[0].replace('{', '').replace('}', '') if big else '', text)
        words = [w.strip() for w in re.split(r',(?![^(\[]*[)\]])', text)] if text.strip() else []
        params = facts.params(function, big)
        if len(words) != len(params):
            sys.exit(f'{function.name}: {len(words)} arguments for {[p.name for p in params]}')
        for at, p in enumerate(params):
            integer = p.poly and (p.base(False) == 'int' or p.kind == 'POLYFUNCTION')
            if big and integer and not p.large:
                words[at] += '_MPI_COUNT_KIND' if words[at].isdigit() else '_c'
        return [w for w in words if w]

    def call(self, line, big):
        match = re.match(r'[@!](?:(\w+) = )?(\w+)\s*(.*)', line)
        result, name, rest = match[1], f'MPI_{match[2]}', match[3]
        if name == 'MPI_F_sync_reg':
            return [f'call {self.prefix}{name}({rest})']
        function = self.functions[name]
        large = big and function.poly
        self.called.add((name, large))
        full = self.prefix + name + ('_c' if large and not facts.has_overload(function) else '')
        if result:
            return [f'{result} = {full}{rest}']
        words = self.arguments(function, rest, large)
        if name == 'MPI_Pcontrol':
            return [f'call {full}({", ".join(words)})']
        then = 'refused' if line.startswith('!') else 'done'
        return [f'call {full}({", ".join(words + ["ierr"])})', f"call {then}('{full}')"]

    def paragraph(self, lines, big):
        out = []
        for line in lines:
            line = self.chosen(line)
            if line is None:
                continue
            line = re.sub(r'%(\w+)', r'\1_c' if big else r'\1', line)
            if line.startswith(('@', '!')):
                out += self.call(line, big)
            elif line.startswith('?'):
                last = next((o for o in reversed(out) if 'MPI_' in o), '')
                name = re.search(r'P?MPI_\w+', last)[0] if last else 'loop'
                out += [f"call check({line[1:].strip()}, '{name}: wrong result')"]
            else:
                out.append(line)
        return [self.wrap(self.replace(line, big)) for line in out]

    @staticmethod
    def wrap(line):
        return '    ' + re.sub(r'(.{90,110}, )', r'\1&\n      ', line)

    def replace(self, line, big=False):
        return line.replace('PREFIX', self.prefix).replace('STYLE', self.style).replace('FORM', 'c' * big)

    def parts(self):
        out, lines = [], []

        def flush():
            if not lines:
                return
            out.extend(self.paragraph(lines, False))
            names = [f'MPI_{n}' for line in lines for n in re.findall(r'@(?:\w+ = )?(\w+)', line)]
            if self.style == 'f08' and any(self.functions[n].poly for n in names if n in self.functions):
                out.extend(self.paragraph(lines, True))
            lines.clear()

        for line in (HERE / 'script.txt').read_text(encoding='utf-8').splitlines():
            if line.startswith('=='):
                flush()
                out += ['  end subroutine'] * bool(self.names)
                self.names.append(line.split()[1])
                out += [f'  subroutine call_{self.names[-1]}']
            elif line.strip() and not line.startswith('#'):
                lines.append(line)
            else:
                flush()
        flush()
        return out + ['  end subroutine']

    def frame(self):
        text = (HERE / 'frame.f90').read_text(encoding='utf-8')
        text = re.sub(r'  FOREACH (.*)\n((?:.|\n)*?)  END\n', self.each, text)
        text = re.sub(r'  BEGIN (\w+)\n((?:.|\n)*?)  END\n',
                      lambda m: m[2] if (m[1] == 'f08') == (self.style == 'f08') else '', text)
        return self.replace(self.types(self.use(text)))

    @staticmethod
    def each(match):
        pairs = (pair.split(':') for pair in match[1].split())
        return ''.join(match[2].replace('NOUN', noun).replace('KIND', kind, 1).replace('<KIND>', f'<{kind}>')
                       for noun, kind in pairs)

    def use(self, text):
        """mpif.h follows `implicit none`, a module precedes it."""
        if self.style == 'mpif':
            return text.replace('  USE\n  implicit none\n', f"  implicit none\n  {INCLUDES['mpif']}\n")
        return text.replace('  USE\n', f'  {INCLUDES[self.style]}\n')

    def types(self, text):
        typed = self.style == 'f08'
        for name in TYPES:
            text = text.replace(f'<{name}>', f'type(MPI_{name})' if typed else 'integer')
        text = text.replace('<Status> :: status', 'type(MPI_Status) :: status' if typed
                            else 'integer :: status(MPI_STATUS_SIZE)')
        return text.replace('<Address>', 'type(c_ptr)' if typed else 'integer(MPI_ADDRESS_KIND)')

    def program(self):
        parts = self.parts()
        missing = [f.c_name(big) for f in self.functions.values() for big in f.forms()
                   if f.name not in ELSEWHERE and (f.name, big) not in self.called
                   and (self.style != 'f08' or facts.in_f08(f)) and (self.style == 'f08' or not big)]
        if missing:
            sys.exit(f'script.txt does not call {", ".join(missing)}')
        start = 'MPI_Init_thread(MPI_THREAD_SERIALIZED, level, ierr)' if self.prefix else 'MPI_Init(ierr)'
        main = [f'program calls_{self.style}', '  use calls_state', '  implicit none',
                '  integer :: level, total', f'  call {self.prefix}{start}', '  call set_up']
        main += [f'  call call_{name}' for name in self.names]
        main += ['  call MPI_Allreduce(wrong, total, 1, MPI_INTEGER, MPI_SUM, comm, ierr)',
                 '  call MPI_Comm_free(comm, ierr)',
                 "  if (me == 0) print *, made, 'calls:', total, ' wrong'",
                 '  if (command_argument_count() > 0) call PREFIXMPI_Abort(MPI_COMM_WORLD, 3, ierr)',
                 '  call PREFIXMPI_Finalize(ierr)', '  if (total /= 0) stop 1', 'contains']
        return self.frame() + '\n'.join(self.replace(line) for line in main) + '\n' + '\n'.join(parts) + '\nend program\n'


def main():
    style, prefix, out = sys.argv[1:4]
    pathlib.Path(out).write_text(Writer(style, prefix.replace('-', '')).program(), encoding='utf-8')


main()
