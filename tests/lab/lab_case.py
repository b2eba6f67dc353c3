# SPDX-License-Identifier: BSD-3-Clause
"""Common code of the lab tests: test_X.py BUILD SOURCE [unittest arguments]. Exit code 77 and the reason on a machine
that cannot have a lab. Each test class has a lab with a unique name, so that several can run at once."""
import os
import signal
import subprocess
import sys
import time
import unittest

BUILD = os.path.abspath(sys.argv.pop(1))
SOURCE = os.path.abspath(sys.argv.pop(1))
LAB = SOURCE + '/lab/herald-lab'
HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT = 120  # only a hang exceeds it
# Input without end of file: Hydra forwards the end to the first host, and gets SIGPIPE if the job is over by then.
SILENCE, _END = os.pipe()
sys.path.insert(0, SOURCE + '/lab')


def lab(*words, name, code=0, **more):
    """Runs herald-lab and returns the result. `code`: the expected exit code, None: any."""
    command = [LAB, words[0], '--name', name, *map(str, words[1:])]
    done = subprocess.run(command, capture_output=True, text=True, stdin=SILENCE, timeout=LIMIT, **more)
    if code is not None and done.returncode != code:
        raise AssertionError(f'{" ".join(command)}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}')
    return done


def unique(word):
    return f'test-{word}-{os.getpid()}'


def wait_until(condition):
    end = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


class LabCase(unittest.TestCase):
    """One lab for all tests of the class; faults are removed between them."""
    hosts = 2
    options = ()

    @classmethod
    def setUpClass(cls):
        cls.name = unique(cls.__name__.lower())
        lab('up', cls.hosts, *cls.options, name=cls.name)
        cls.addClassCleanup(lab, 'down', name=cls.name)

    def setUp(self):
        self.addCleanup(self.lab, 'fault', 'heal')

    def lab(self, *words, **more):
        return lab(*words, name=self.name, **more)

    def start(self, host, *words, **more):
        """Starts a process on a host; it ends with the test."""
        child = subprocess.Popen([LAB, 'exec', '--name', self.name, host, *words], stdout=subprocess.PIPE, text=True,
                                 stdin=SILENCE, **more)

        def finish():
            if child.poll() is None:
                child.send_signal(signal.SIGTERM)
            child.wait(LIMIT)
            child.stdout.close()

        self.addCleanup(finish)
        return child

    def udp(self, source, sinks, count=2000, size=200, **more):
        """Sends numbered packets from a host to one or several, or to a multicast address that several have joined; returns
        [{received, different, damaged}] for each of them."""
        group = more.get('group', '')
        watch = [self.start(sink, sys.executable, HERE + '/udp_tool.py', 'sink', str(size), group) for sink in sinks]
        for child in watch:
            self.assertEqual(child.stdout.readline(), 'ready\n')
        to = group or self.address(sinks[0])
        sender = self.start(source, sys.executable, HERE + '/udp_tool.py', 'send', to, str(count), str(size))
        result = []
        for child in watch:
            received, different, damaged = map(int, child.stdout.readline().split())
            result.append({'received': received, 'different': different, 'damaged': damaged})
        sender.terminate()
        return result

    @staticmethod
    def address(host):
        return f'10.77.0.{host[1:]}'


def main():
    done = subprocess.run([LAB, 'check'], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        print(f'skipped: {done.stdout.strip()} {done.stderr.strip()}')
        sys.exit(77)
    unittest.main()
