#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong: a person who reads all network traffic of a job, that of the launcher included, finds the key of
its packets; a local user who joins a multicast group reads what HERALD_SECURE=encrypt should hide; altered, repeated or
forged packets do harm; a job that asks for protection starts without it; a rank without the right secret takes part."""
import os
import re
import sys
import tempfile

import eavesdropper
from lab_case import BUILD, HERE, LIMIT, main, wait_until
from lab_job import Job

PROGRAM = BUILD + '/tests/programs/lanes_hosts'
SPY = HERE + '/eavesdropper.py'
# A part of what rank 0 broadcasts first.
KNOWN = bytes((i * 7 + i // 251) & 255 for i in range(5000, 5064))


class Secure(Job):
    hosts = 3
    PLACES = ['HERALD_LANES_NET=239.195.7.0/28', 'HERALD_PORTS=21900-21999']

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.chmod(self.folder, 0o755)

    def no_library(self):
        """An environment in which no cryptographic library can be loaded."""
        for name in ('libcrypto.so.3', 'libcrypto.so.1.1', 'libcrypto.so.4'):
            with open(f'{self.folder}/{name}', 'w', encoding='utf-8'):
                pass
        return ['LD_LIBRARY_PATH=' + self.folder]

    def overheard(self, *words, engine, env):
        """All frames of a job, and its output."""
        file = self.folder + '/frames'
        spy = self.start('head', sys.executable, SPY, 'record', file)
        self.assertEqual(spy.stdout.readline(), 'ready\n')
        done = self.run_job(*words, engine=engine, env=env)
        spy.terminate()
        spy.wait(LIMIT)
        datagrams, streams = eavesdropper.split(eavesdropper.read(file))
        self.assertGreater(len(datagrams), 20)
        self.assertGreater(sum(map(len, streams)), 1000)
        return datagrams, streams, done.stdout + done.stderr

    def found_key(self, datagrams, streams):
        ack = eavesdropper.acks(datagrams)[0]
        keys = eavesdropper.possible_keys(streams)
        self.assertGreater(len(keys), 10)
        return any(eavesdropper.verifies(key, ack, self.hosts) for key in keys)

    def test_the_key_does_not_cross_the_network(self):
        for engine in self.engines:
            datagrams, streams, out = self.overheard(PROGRAM, '0', '20000', engine=engine, env=())
            self.assertFalse(self.found_key(datagrams, streams), engine)
            self.assertNotIn('cryptographic', out)
        # The eavesdropper is able to find a key that does, and the user is told.
        datagrams, streams, out = self.overheard(PROGRAM, '0', '20000', engine=engine, env=self.no_library())
        self.assertTrue(self.found_key(datagrams, streams))
        self.assertEqual(len(re.findall('finds no cryptographic library', out)), 1, out)

    def test_who_reads_the_network_reads_data_unless_they_are_encrypted(self):
        for level in ('tag', 'auth', 'encrypt'):
            for engine in self.engines:
                env = ['HERALD_SECURE=' + level]
                datagrams, _, _ = self.overheard(PROGRAM, '0', '20000', engine=engine, env=env)
                self.assertEqual(any(KNOWN in one for one in datagrams), level != 'encrypt', level)
                self.assertEqual(any(one[0] == 1 for one in datagrams if one), level == 'tag')

    def groups(self, host):
        text = self.lab('exec', host, 'cat', '/proc/net/igmp').stdout
        found = {int(word, 16) for word in re.findall(r'^\t+([0-9A-F]{8}) ', text, re.MULTILINE)}
        return ['.'.join(str(number >> shift & 0xff) for shift in (0, 8, 16, 24)) for number in found if number & 0xff == 239]

    def casts_read(self, level, seconds):
        """Casts that another user of a host receives; none if the job ended too soon."""
        file = self.folder + '/casts'
        child = self.begin(PROGRAM, str(seconds), '20000', env=self.PLACES + ['HERALD_SECURE=' + level])
        self.assertTrue(wait_until(lambda: self.groups('h2') or child.poll() is not None))
        groups = self.groups('h2')
        os.chmod(self.folder, 0o777)
        spy = self.start('h2', sys.executable, SPY, 'casts', file, '21999', *groups)
        self.assertEqual(spy.stdout.readline(), 'ready\n')
        self.must_pass(child)
        spy.terminate()
        spy.wait(LIMIT)
        return eavesdropper.read(file)

    def test_a_local_user_who_joins_the_group(self):
        round_text = re.compile(b'|'.join(re.escape(bytes((seed * 31 + i * 7 + i // 251) & 255 for i in range(5000, 5032)))
                                          for seed in range(256)))
        for level in ('tag', 'encrypt'):
            casts = self.casts_read(level, 2) or self.casts_read(level, 15)  # the machine may be busy
            self.assertGreater(len(casts), 0)
            self.assertEqual(any(round_text.search(one) for one in casts[:1000]), level == 'tag', level)

    def test_altered_and_repeated_packets(self):
        for level in ('auth', 'encrypt'):
            for fault in (['duplicate', '20%'], ['corrupt', '5%'], ['loss', '5%']):
                self.lab('fault', *fault)
                self.run_job(PROGRAM, '0.5', '50000', env=['HERALD_SECURE=' + level])
                self.lab('fault', 'heal')

    def harmed(self, level, seconds):
        """Packets of a running job that came to a host again, as they were and altered; None if the job ended before."""
        file = self.folder + '/frames'
        spy = self.start('head', sys.executable, SPY, 'record', file)
        self.assertEqual(spy.stdout.readline(), 'ready\n')
        child = self.begin(PROGRAM, str(seconds), '20000', env=['HERALD_SECURE=' + level])
        wait_until(lambda: eavesdropper.payloads_to('10.77.0.2', file) or child.poll() is not None)
        spy.terminate()
        spy.wait(LIMIT)
        attacker = self.start('h3', sys.executable, SPY, 'harm', file, '10.77.0.2', '20000')
        sent = [int(word) for word in attacker.stdout.readline().split()]
        under_way = child.poll() is None
        self.must_pass(child)
        return sent if under_way else None

    def test_copies_and_altered_copies_during_a_job(self):
        for level in ('tag', 'auth', 'encrypt'):
            sent = self.harmed(level, 4) or self.harmed(level, 20)  # the machine may be busy
            self.assertIsNotNone(sent)
            self.assertGreater(min(sent[:3]), 1000)

    def test_a_job_that_cannot_be_protected_does_not_start(self):
        key = self.folder + '/key'
        with open(key, 'wb') as file:
            file.write(os.urandom(32))
        os.chmod(key, 0o600)
        for wish in ('HERALD_SECURE=auth', 'HERALD_SECURE=encrypt', 'HERALD_KEY_FILE=' + key):
            env = [wish] + self.no_library()
            done = self.lab('run', '--engine', self.engine, '--timeout', 60, *self.options_of(None, env), PROGRAM, '0', '100', code=None)
            self.assertNotIn(done.returncode, (0, 124), wish)
            self.assertIn('needs a cryptographic library', done.stdout + done.stderr)

    def test_without_proc(self):
        words = ['unshare', '-m', 'sh', '-c', 'umount -l /proc && exec "$@"', 'sh', PROGRAM, '0', '100']
        for env in ([], ['HERALD_PATH=udp']):
            done = self.lab('run', '--engine', self.engine, '--timeout', 60, *self.options_of(None, env), *words, code=None)
            self.assertNotIn(done.returncode, (0, 124))
            self.assertIn('mount -t proc', done.stdout + done.stderr)

    def test_key_files(self):
        key = self.folder + '/key-'
        for host in ('h1', 'h2', 'h3'):
            with open(key + host, 'wb') as file:
                file.write(b'0123456789abcdef')
            os.chmod(key + host, 0o600)
        # Each rank reads the file of its host.
        words = ['sh', '-c', f'HERALD_KEY_FILE={key}$(hostname) exec "$@"', 'sh', PROGRAM, '0', '20000']
        self.run_job(*words, env=['HERALD_SECURE=encrypt'])

        def refused(reason):
            done = self.lab('run', '--engine', self.engine, '--timeout', 60, *words, code=None)
            self.assertNotIn(done.returncode, (0, 124))
            self.assertIn(reason, done.stdout + done.stderr)

        os.chmod(key + 'h2', 0o640)
        refused('others can read or write it')
        os.chmod(key + 'h2', 0o600)
        with open(key + 'h2', 'wb') as file:
            file.write(b'another secret, as an attacker would have')
        refused('does not have the same HERALD_KEY_FILE')
        os.remove(key + 'h2')
        refused('No such file')


if __name__ == '__main__':
    main()
