# SPDX-License-Identifier: BSD-3-Clause
"""Runs commands, reports errors, reads /proc."""
import os
import shutil
import signal
import subprocess
import time

# Some users' PATH lacks the sbin folders.
os.environ['PATH'] = os.environ.get('PATH', '/usr/bin:/bin') + ':/usr/local/sbin:/usr/sbin:/sbin'

NEEDED = {'ip': 'iproute2', 'tc': 'iproute2', 'nft': 'nftables', 'ethtool': 'ethtool', 'nsenter': 'util-linux',
          'unshare': 'util-linux', 'mount': 'mount', 'hostname': 'hostname'}


class LabError(Exception):
    """An error message for the user; the command ends with exit code 1."""


def run(words, text=None):
    """The output of a command; LabError with its message if it fails."""
    done = subprocess.run(words, input=text, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL if text is None else None)
    if done.returncode != 0:
        output = (done.stderr or done.stdout).strip()
        raise LabError(f'`{" ".join(words)}` failed with exit code {done.returncode}' + (f': {output}' if output else ''))
    return done.stdout


def why_not():
    """The reason why this machine cannot have a lab, or None."""
    if os.geteuid() != 0:
        return 'making network namespaces needs root (try sudo)'
    missing = sorted({package for command, package in NEEDED.items() if not shutil.which(command)})
    if missing:
        return f'not installed: {", ".join(missing)} (names of Debian packages)'
    probe = ('ip link add name port0 type veth peer name eth0 && ip link add name br0 type bridge && '
             'tc qdisc add dev port0 root tbf rate 1mbit burst 4k limit 10k overhead 24 && '
             'nft add table bridge t && nft add table netdev t')
    done = subprocess.run(['unshare', '--net', '--uts', '--ipc', '--mount', 'sh', '-c', probe], capture_output=True,
                          text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        return f'the kernel does not allow a virtual network: {done.stderr.strip()}'
    return None


def need_lab():
    reason = why_not()
    if reason:
        raise LabError(f'no lab is possible here: {reason}')


def read(path):
    try:
        with open(path, 'rb') as file:
            return file.read().decode('utf-8', 'replace')
    except OSError:
        return ''


def environment_of(pid):
    return read(f'/proc/{pid}/environ').split('\0')


def processes():
    return [int(name) for name in os.listdir('/proc') if name.isdigit()]


def namespace_of(pid):
    """The number of a process's network namespace, or None."""
    try:
        return os.stat(f'/proc/{pid}/ns/net').st_ino
    except OSError:
        return None


def alive(pid):
    stat = read(f'/proc/{pid}/stat')
    return bool(stat) and stat.rsplit(')', 1)[1].split()[0] not in 'ZX'


def end(pids, grace_s=2.0):
    """Ends processes with SIGTERM, after `grace_s` with SIGKILL. Returns when all have exited."""
    for number, seconds in ((signal.SIGTERM, grace_s), (signal.SIGKILL, 10.0)):
        pids = [pid for pid in pids if alive(pid)]
        for pid in pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        limit = time.monotonic() + seconds
        while any(alive(pid) for pid in pids) and time.monotonic() < limit:
            time.sleep(0.01)
