#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rules_test.py BUILD VERSION: every rule of herald-plans, on the IR and the remarks of small programs.

What could go wrong: a call is prepared or converted where it must not be, or not where it could be; a remark gives no
reason or a wrong one; the pass makes invalid IR."""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

import rules
import rules_messages


def compile_case(case, build, version, folder, language):
    name, mode, source, _ = case
    file = f'{folder}/{name}.{"cpp" if language == "c++" else "c"}'
    with open(file, 'w', encoding='utf-8') as out:
        out.write('#include <mpi.h>\n#include <mpix.h>\n' + source)
    plugin = f'{build}/lib/herald/herald-plans-{version}.so'
    compiler = ('clang++-' if language == 'c++' else 'clang-') + version
    lto = ['-flto=thin'] if name.endswith('thin_lto') else []
    return subprocess.run(
        [compiler, *lto, '-O2', '-gline-tables-only', '-S', '-emit-llvm', '-o', '-', f'-I{build}/include', '-Xclang', '-load',
         '-Xclang', plugin, f'-fpass-plugin={plugin}', '-mllvm', f'-herald-plans={mode}', '-Rpass=herald-plans',
         '-Rpass-missed=herald-plans', '-Rpass-analysis=herald-plans', '-Wno-everything', file],
        capture_output=True, text=True, check=False, timeout=120)


def failures(case, done):
    """What the result lacks."""
    if done.returncode != 0:
        return [f'the compiler failed: {done.stderr[-2000:]}']
    ir, remarks = done.stdout, done.stderr
    # LLVM 14 has typed pointers.
    ir = re.sub(r'%struct\.MPI_ABI_\w+\*|\bi8\*', 'ptr', ir)
    found = []
    for rule in case[3]:
        text = rule[1:].replace('i8*', 'ptr')
        if rule[0] == '+' and text not in ir:
            found.append(f'not in the IR: {text}')
        if rule[0] == '-' and text in ir:
            found.append(f'in the IR: {text}')
        if rule[0] == '!' and text not in remarks:
            found.append(f'no remark says: {text}')
        if rule[0].isdigit():
            number, text = rule.split('*', 1)
            lines = sum(text in line for line in ir.splitlines())
            if lines != int(number):
                found.append(f'{lines} lines of the IR instead of {number} have: {text}')
    return found + ([f'remarks:\n{remarks}'] if found else [])


def main():
    build, version = sys.argv[1:3]
    only = sys.argv[3:]
    if not os.path.exists(f'{build}/lib/herald/herald-plans-{version}.so'):
        print(f'skipped: herald-plans was not built for LLVM {version}')
        return 77
    in_c = rules.PREPARE + rules.CONVERT + rules_messages.PREPARE + rules_messages.CONVERT
    cases = [(case, language) for language, group in (('c', in_c), ('c++', rules.CXX + rules_messages.CXX))
             for case in group if not only or case[0] in only]
    names = [case[0] for case, _ in cases]
    assert len(set(names)) == len(names), 'two cases have the same name'
    failed = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda one: compile_case(one[0], build, version, folder, one[1]), cases)
        for (case, _), done in zip(cases, results):
            wrong = failures(case, done)
            failed += bool(wrong)
            for line in wrong:
                print(f'{case[0]}: {line}')
            if only:
                print(done.stdout)
    print(f'{len(cases)} cases, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
