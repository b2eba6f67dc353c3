#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""must_fail.py --message REGEX -- COMMAND...: passes if the command ends by itself with a non-zero code, and its
output matches the pattern."""
import re
import subprocess
import sys

split = sys.argv.index("--")
pattern = sys.argv[sys.argv.index("--message") + 1]
run = subprocess.run(sys.argv[split + 1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=50, check=False)
text = run.stdout.decode(errors="replace")
print(text)
if run.returncode == 0:
    sys.exit("the job was to fail, but its exit code is 0")
if not re.search(pattern, text):
    sys.exit(f"no line matches {pattern!r}")
