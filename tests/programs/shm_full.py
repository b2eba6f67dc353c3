#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong: with too little shared memory a job hangs, dies of SIGBUS, gives no reason or remedy, or leaves
files; without memory for the segments of communicators the collectives fail. shm_full.py MPIEXEC PROGRAMS
Runs in a mount namespace with a small /dev/shm of its own; exit code 77 where none can be had."""
import os
import re
import subprocess
import sys
import unittest

MPIEXEC, PROGRAMS = sys.argv[1:3]
LIMIT_S = 60


def enter():
    """Runs this script again in a mount namespace."""
    for how in (["unshare", "-m"], ["unshare", "-mr"]):
        try:
            probe = subprocess.run([*how, "sh", "-c", "mount --make-rprivate / && mount -t tmpfs -o size=64k tmpfs /dev/shm"],
                                   capture_output=True, text=True, check=False)
        except OSError as error:
            print(f"skipped: {error}")
            sys.exit(77)
        if probe.returncode == 0:
            os.execvp(how[0], [*how, sys.executable, "-B", *sys.argv[:3], "inside"])
    print(f"skipped: no mount namespace can be had here: {probe.stderr.strip()}")
    sys.exit(77)


class FullTest(unittest.TestCase):
    def room(self, size):
        """Mounts a new /dev/shm of this size in bytes."""
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", "/dev/shm"], check=True)
        self.addCleanup(subprocess.run, ["umount", "/dev/shm"], check=True)

    def run_job(self, ranks, program):
        done = subprocess.run([MPIEXEC, "-n", str(ranks), os.path.join(PROGRAMS, program)], capture_output=True,
                              text=True, timeout=LIMIT_S, check=False)
        self.assertNotIn("signal", done.stderr)
        self.assertEqual(os.listdir("/dev/shm"), [])
        return done

    def assert_refused(self, done):
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn("passed", done.stdout)
        words = (r"MPI_Init: .*rank \d wants (\d+) bytes in /dev/shm for its inbox and (\d+) are there: .*"
                 r"HERALD_SHM_INBOX_BYTES.*more room")
        self.assertRegex(done.stderr, words)
        return tuple(map(int, re.search(words, done.stderr).groups()))

    def inbox_bytes(self):
        self.room(16384)
        # Only here: where there is room for some, one that was refused may have given its room back meanwhile.
        wanted, there = self.assert_refused(self.run_job(4, "p2p_basic"))
        self.assertLess(there, wanted)
        return wanted

    def test_no_memory_for_any_inbox(self):
        self.assertGreater(self.inbox_bytes(), 16384)

    def test_memory_for_some_inboxes_only(self):
        inbox = self.inbox_bytes()
        for some in (1, 2, 3):
            self.room(inbox * some + inbox // 2)
            self.assert_refused(self.run_job(4, "p2p_basic"))

    def test_the_suggested_remedy_works(self):
        self.room(self.inbox_bytes())
        os.environ["HERALD_SHM_INBOX_BYTES"] = "1"
        self.addCleanup(os.environ.pop, "HERALD_SHM_INBOX_BYTES")
        done = self.run_job(4, "p2p_basic")
        self.assertEqual((done.returncode, "passed" in done.stdout), (0, True), done.stderr)

    def test_collectives_work_without_segments(self):
        inbox = self.inbox_bytes()
        self.room(4 * (inbox + 4096) + 8192)
        for program in ("coll_blocking", "coll_nonblocking", "communicators"):
            done = self.run_job(4, program)
            self.assertEqual((done.returncode, "passed" in done.stdout), (0, True), done.stderr)

    def test_shared_memory_fills_and_empties_during_a_job(self):
        self.room(32 << 20)
        for ranks in (1, 4, 7):
            done = self.run_job(ranks, "shm_full")
            self.assertEqual((done.returncode, "passed" in done.stdout), (0, True), done.stderr)


if __name__ == "__main__":
    if sys.argv[3:] != ["inside"]:
        enter()
    del sys.argv[1:]
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    unittest.main()
