#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""seeds.py FILE FOLDER: unpack a seed corpus for libFuzzer.

Each line of FILE is one input, as a bytes literal of Python; lines that begin with # say what follows. Kept as text so
that a change can be read."""
import ast
import hashlib
import os
import sys


def unpack(file, folder):
    os.makedirs(folder, exist_ok=True)
    count = 0
    with open(file, encoding='ascii') as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.startswith('#'):
                continue
            data = ast.literal_eval(line.strip())
            if not isinstance(data, bytes):
                sys.exit(f'{file}:{number}: not a bytes literal')
            # Named by content, as libFuzzer does.
            with open(os.path.join(folder, hashlib.sha1(data).hexdigest()), 'wb') as seed:
                seed.write(data)
            count += 1
    if count == 0:
        sys.exit(f'{file}: no seed in it')


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit('usage: seeds.py FILE FOLDER')
    unpack(sys.argv[1], sys.argv[2])
