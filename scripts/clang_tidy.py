#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""clang_tidy.py CLANG_TIDY BUILD_TREE: clang-tidy over src/, launch/ and tools/, on all cores.

Headers take most of the time, and files of a folder share them. So files with the same flags are checked together, as
one text. If that has findings, possibly only because two files use the same name, each half is checked again; only the
findings of a single file count.
"""
import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

TOGETHER = 32  # files in one text at most: fewer texts save time, several keep all cores busy
# Folders whose files use the same names for different things: each file gets a separate namespace.
APART = ("src/coll/make", "src/op")
ROOT = pathlib.Path(__file__).resolve().parent.parent


def flags_of(entry):
    """The compiler's options without the compiler, -c, -o and the file."""
    words = iter(shlex.split(entry["command"])[1:])
    kept = []
    for word in words:
        if word == "-o":
            next(words)
        elif word != "-c" and word != entry["file"]:
            kept.append(word)
    return tuple(kept)


def groups(tree):
    """(flags, files) of each group that is checked together."""
    known = {}
    for entry in json.loads((tree / "compile_commands.json").read_text(encoding="utf-8")):
        file = pathlib.Path(entry["file"])
        if file.is_relative_to(ROOT) and file.relative_to(ROOT).parts[0] in ("src", "launch", "tools"):
            known.setdefault(file, flags_of(entry))
    alike = sorted(known, key=lambda file: (str(file.parent), known[file], file.name))
    for (folder, flags), files in itertools.groupby(alike, lambda file: (file.parent, known[file])):
        files = list(files)
        parts = -(-len(files) // TOGETHER)
        for part in range(parts):
            yield flags, files[part::parts]


def text_of(file):
    text = file.read_text(encoding="utf-8")
    if str(file.parent.relative_to(ROOT)) in APART:
        text = re.sub(r"^(namespace herald[\w:]* {)$", rf"\1 namespace file_{file.stem} {{", text, flags=re.MULTILINE)
        text = re.sub(r"^}(  // namespace herald.*)$", r"}}\1", text, flags=re.MULTILINE)
    return text


def run(tool, file, flags, folder):
    done = subprocess.run([tool, "--quiet", f"--config-file={ROOT / '.clang-tidy'}", str(file), "--", f"-I{folder}", *flags],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    # Without findings, stderr has only a count of suppressed warnings; if clang-tidy could not run, it has the error.
    return "" if done.returncode == 0 else done.stdout or done.stderr


def check(tool, scratch, flags, files):
    """The findings in some files."""
    folder = files[0].parent
    if len(files) == 1:
        return run(tool, files[0], flags, folder)
    text = scratch / f"{folder.name}-{files[0].stem}-{len(files)}.cpp"
    text.write_text("\n".join(map(text_of, files)), encoding="utf-8")
    if not run(tool, text, flags, folder):
        return ""
    half = len(files) // 2
    return check(tool, scratch, flags, files[:half]) + check(tool, scratch, flags, files[half:])


def main(tool, tree):
    scratch = tree / "tidy"
    scratch.mkdir(exist_ok=True)
    work = list(groups(tree))
    files = sum(len(group) for _, group in work)
    sources = sum(1 for top in ("src", "launch", "tools") for _ in (ROOT / top).rglob("*.cpp"))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = "".join(pool.map(lambda part: check(tool, scratch, *part), work))
    if found:
        print(found)
    if files != sources:
        print(f"clang_tidy.py: {sources} source files, but {files} are compiled in {tree}")
    print(f"{files} files read in {len(work)} parts")
    return 1 if found or files != sources else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], pathlib.Path(sys.argv[2]).resolve()))
