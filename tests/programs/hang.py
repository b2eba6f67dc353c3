#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""hang.py MPIEXEC HERALD PROGRAM: a job that hangs is asked why: at --timeout, at Ctrl-C, by SIGUSR1 and by `herald ps`;
with stacks.
What could go wrong: it says nothing, or not which call of which rank waits for which rank; a cycle is not named, or not
one over hosts; ranks that compute are accused; SIGUSR1 kills the ranks, or no timeline is written; 64 ranks take long."""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

MPIEXEC, HERALD, PROGRAM = sys.argv[1:4]
LIMIT = 100


def fail(text, output):
    sys.exit(f"failed: {text} in:\n{output}")


def expect(output, *patterns):
    for pattern in patterns:
        if not re.search(pattern, output):
            fail(f"no {pattern!r}", output)


def start(case, *options, ranks=3, **env):
    return subprocess.Popen([MPIEXEC, "-n", str(ranks), *options, PROGRAM, case], stderr=subprocess.PIPE, text=True,
                            env={**os.environ, **env})


def end(job):
    return job.communicate(timeout=LIMIT)[1]


def job_names():
    listed = subprocess.run([HERALD, "ps"], capture_output=True, text=True, timeout=LIMIT).stdout
    return {line.split()[0] for line in listed.splitlines()[1:]}


def asked(job, name, pattern):
    """The output of `herald ps NAME`, when it shows that."""
    deadline = time.monotonic() + LIMIT
    while True:
        output = subprocess.run([HERALD, "ps", name], capture_output=True, text=True, timeout=LIMIT).stdout
        if re.search(pattern, output):
            return output
        if time.monotonic() > deadline or job.poll() is not None:
            job.kill()
            fail(f"no {pattern!r}", output)
        time.sleep(0.1)


def name_of(job):
    """The name that mpiexec gave the job: in the environment of its first rank."""
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        ranks = subprocess.run(["ps", "-o", "pid=", "--ppid", str(job.pid)], capture_output=True, text=True).stdout
        for pid in ranks.split():
            try:
                with open(f"/proc/{pid}/environ") as file:
                    found = re.search(r"HERALD_JOB_ID=(\w+)", file.read())
            except OSError:
                continue
            if found:
                return found.group(1)
        time.sleep(0.05)
    fail("no rank with HERALD_JOB_ID", "")


RECV = r"rank {} on \S+: MPI_Recv from {}, tag 7, MPI_COMM_WORLD, for \d"
CYCLE = "deadlock: rank 0 waits for rank 1, rank 1 waits for rank 2, rank 2 waits for rank 0"


def test_timeout():
    with tempfile.TemporaryDirectory() as folder:
        job = start("cycle", "--timeout", "4", HERALD_TRACE=folder + "/%r")
        output = end(job)
        if sorted(os.listdir(folder)) != ["0", "1", "2"]:
            fail(f"timelines {os.listdir(folder)}", output)
    expect(output, RECV.format(0, 1) + r".*; 3 unexpected messages from 2", RECV.format(1, 2), RECV.format(2, 0), CYCLE)
    if not re.search(r"(?s)deadlock.*timeout", output):
        fail("the summary comes before the explanation", output)
    if job.returncode != 124:
        fail(f"exit code {job.returncode}", output)


def test_ps_then_interrupt():
    job = start("cycle")
    name = name_of(job)
    output = asked(job, name, "deadlock")
    expect(output, RECV.format(0, 1), CYCLE)
    if name not in job_names():
        fail(f"`herald ps` does not list {name}", str(job_names()))
    time.sleep(1.2)  # mpiexec mentions waits from 1 s
    job.send_signal(signal.SIGINT)
    expect(end(job), RECV.format(2, 0), CYCLE)
    if name in job_names():
        fail("an ended job is listed", "")


def test_usr1():
    job = start("barrier")
    asked(job, name_of(job), "deadlock")
    job.send_signal(signal.SIGUSR1)
    output = line = ""
    while "deadlock" not in line:
        line = job.stderr.readline()
        output += line
        if not line:
            fail("no deadlock named, or the ranks were killed", output)
    expect(output, r"rank 1 on \S+: MPI_Barrier, MPI_COMM_WORLD, for \d", "rank 0 waits for rank 2, rank 2 waits for rank 0")
    if job.poll() is not None:
        fail("SIGUSR1 ended the job", output)
    job.send_signal(signal.SIGTERM)
    end(job)


def test_finalize():
    job = start("finalize", ranks=2)
    name = name_of(job)
    line = job.stderr.readline()  # after 5 s, without being asked
    expect(line, "rank 1 on .*MPI_Finalize has waited 5 s for other ranks; 1 message from rank 0 never received")
    output = asked(job, name, "deadlock")
    expect(output, r"rank 1 on \S+: MPI_Finalize, for \d", r"rank 0 on \S+: MPI_Ssend to 1, tag 7, MPI_COMM_WORLD",
           "deadlock: rank 0 waits for rank 1, which has called MPI_Finalize")
    job.send_signal(signal.SIGINT)
    end(job)


def test_waitall():
    job = start("waitall", ranks=2)
    output = asked(job, name_of(job), "MPI_Waitall")
    expect(output, r"rank 0 on \S+: MPI_Waitall for 2 operations: receive from 1, tag 3; send to 1, tag 4, MPI_COMM_WORLD",
           r"rank 1 on \S+: waits for nothing")
    time.sleep(1)
    if "deadlock" in asked(job, name_of(job), "MPI_Waitall"):
        fail("a rank that computes was accused", output)
    job.send_signal(signal.SIGINT)
    end(job)


def test_timelines():
    """By SIGUSR1 and by `herald ps`; each time the files have more, and the job goes on."""
    def are_whole(paths):
        return all(os.path.exists(path) and open(path).read().endswith("]}\n") for path in paths)

    with tempfile.TemporaryDirectory() as folder:
        paths = [f"{folder}/{rank}" for rank in range(3)]
        job = start("cycle", HERALD_TRACE=folder + "/%r")
        name = name_of(job)
        asked(job, name, "deadlock")
        for ask in (lambda: job.send_signal(signal.SIGUSR1), lambda: asked(job, name, "deadlock")):
            time.sleep(0.5)  # those asked for before are written
            for path in filter(os.path.exists, paths):
                os.unlink(path)
            ask()
            deadline = time.monotonic() + LIMIT
            while not are_whole(paths):
                if time.monotonic() > deadline or job.poll() is not None:
                    fail("no timelines of a job that goes on", str(os.listdir(folder)))
                time.sleep(0.05)
        job.send_signal(signal.SIGINT)
        end(job)


def test_many_ranks():
    """64 ranks: the answer comes within a second, on a machine that has one to spare."""
    job = start("cycle", ranks=64)
    name = name_of(job)
    asked(job, name, "deadlock: rank 0 waits for rank 1")
    least = LIMIT
    for _ in range(20):
        begin = time.monotonic()
        asked(job, name, "deadlock: rank 0 waits for rank 1")
        least = min(least, time.monotonic() - begin)
        if least < 1:
            break
    job.send_signal(signal.SIGINT)
    end(job)
    if least >= 1:
        fail(f"herald ps answers 64 ranks in {least:.1f} s", "")


def test_hosts():
    """Ranks of three hosts (all this one, without ssh): a cycle over hosts is named, once, and before the summary."""
    with tempfile.TemporaryDirectory(prefix="herald-hang-") as folder:
        agent = f"{folder}/agent"
        with open(agent, "w") as file:
            file.write('#!/bin/sh\nshift\nexec sh -c "$*"\n')
        os.chmod(agent, 0o755)
        words = ("--engine", "ssh", "--rsh-agent", agent, "--host", "a,b,c")
        job = start("cycle", *words, "--timeout", "4")
        output = end(job)
        expect(output, RECV.format(0, 1) + r".*; 3 unexpected messages from 2", RECV.format(1, 2), RECV.format(2, 0), CYCLE,
               r"(?s)deadlock.*timeout")
        if job.returncode != 124 or output.count("deadlock: ") != 1 or len(re.findall("rank . on", output)) != 3:
            fail(f"exit code {job.returncode}, or a rank is named twice", output)
        job = start("cycle", *words)
        time.sleep(2)
        job.send_signal(signal.SIGUSR1)
        while "deadlock" not in (line := job.stderr.readline()):
            if not line:
                fail("no deadlock named, or the ranks were killed", "")
        job.send_signal(signal.SIGINT)
        output = end(job)
        expect(output, RECV.format(2, 0), CYCLE + r"\nmpiexec: ending 3 ranks")
        job = start("cycle", *words, "--timeout", "4", "--stack-traces")
        output = end(job)
        expect(output, CYCLE, *(rf"stack of rank {rank}\b" for rank in range(3)))


def test_stacks():
    """By gdb, if it is there and may attach; else by the ranks themselves."""
    words = [MPIEXEC, "-n", "3", "--timeout", "4", "--stack-traces", PROGRAM, "cycle"]
    for path in (os.environ["PATH"], "/nonexistent"):
        done = subprocess.run(words, stderr=subprocess.PIPE, text=True, timeout=LIMIT, env={**os.environ, "PATH": path})
        if done.returncode != 124:
            fail(f"exit code {done.returncode}", done.stderr)
        for rank in range(3):
            expect(done.stderr, rf"stack of rank {rank}\b")
        if len(re.findall(r"MPI_Recv[+ (]", done.stderr)) < 3:
            fail("no MPI_Recv in each stack", done.stderr)


for test in (test_stacks, test_timeout, test_ps_then_interrupt, test_usr1, test_finalize, test_waitall, test_timelines, test_many_ranks,
             test_hosts):
    test()
print("passed")
