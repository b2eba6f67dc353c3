#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""expect.py [--output REGEX]... [--never REGEX]... [--fails] [--timeout S] -- COMMAND...

Runs a command and passes if its exit code is 0 (with --fails: not 0), its output (both streams) matches every --output
and matches no --never. CTest's PASS_REGULAR_EXPRESSION would ignore the exit code. Exit code 77 of the command means
that it was skipped, and becomes that of the runner.
"""
import argparse
import re
import signal
import subprocess
import sys

SKIPPED = 77


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--output', metavar='REGEX', action='append', default=[])
    parser.add_argument('--never', metavar='REGEX', action='append', default=[])
    parser.add_argument('--fails', action='store_true', help='the command must end by itself with another code than 0')
    parser.add_argument('--timeout', type=float, metavar='S', help='seconds; CTest has its own limit')
    parser.add_argument('command', nargs='+')
    return parser.parse_args(arguments)


def run(command, timeout):
    """(exit code, output) of the command; the output is copied to ours while the command runs."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
        signal.signal(signal.SIGALRM, lambda *_: child.kill())
        signal.setitimer(signal.ITIMER_REAL, timeout or 0)
        chunks = []
        while chunk := child.stdout.read1():
            chunks.append(chunk)
            sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
        code = child.wait()
        expired = timeout and signal.setitimer(signal.ITIMER_REAL, 0)[0] == 0
    return None if expired else code, b''.join(chunks).decode(errors='replace')


def complaints(options, code, text):
    found = []
    if code is None:
        found.append(f'it was stopped after {options.timeout:g} s')
    elif options.fails and code == 0:
        found.append('exit code 0, but it was to fail')
    elif not options.fails and code != 0:
        found.append(f'exit code {code}')
    found += [f'no output matches {pattern!r}' for pattern in options.output if not re.search(pattern, text)]
    found += [f'output matches {pattern!r}' for pattern in options.never if re.search(pattern, text)]
    return found


def main(arguments):
    options = parse(arguments)
    code, text = run(options.command, options.timeout)
    if code == SKIPPED:
        return SKIPPED
    found = complaints(options, code, text)
    for words in found:
        print(f'expect.py: {words}', file=sys.stderr)
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
