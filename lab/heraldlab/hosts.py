# SPDX-License-Identifier: BSD-3-Clause
"""Hosts. A host is a set of namespaces (network, UTS, IPC, mount) kept by one sleeping process, its pause process.
Nothing is bound or mounted outside of them, so the kernel removes a host when all its processes have exited. A pause
process has the variable HERALDLAB_HOST=LAB/HOST in its environment."""
import contextlib
import os
import subprocess

from . import network, state, tool

MARK = 'HERALDLAB_HOST'

# Runs inside the new namespaces. $1 name of the host, $2 its hosts file.
_SETUP = '''
set -e
hostname "$1"
mount -t tmpfs -o mode=1777,nosuid,nodev herald-lab /dev/shm
mount --bind "$2" /etc/hosts
mount -t sysfs -o nosuid,nodev,noexec sysfs /sys && mount -t cgroup2 cgroup2 /sys/fs/cgroup || true
for kind in all default; do
  conf=/proc/sys/net/ipv6/conf/$kind
  [ -d $conf ] || continue
  echo 0 >$conf/disable_ipv6; echo 0 >$conf/accept_dad; echo 0 >$conf/accept_ra; echo 0 >$conf/router_solicitations
done
ip link set lo up
echo ready
exec sleep infinity
'''


def start(lab_name, host_name):
    """Starts a pause process; returns its row of the state when the namespaces exist."""
    words = ['unshare', '--net', '--uts', '--ipc', '--mount', '--propagation', 'slave', 'sh', '-c', _SETUP, 'pause',
             host_name, state.folder(lab_name) + '/hosts']
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              start_new_session=True, cwd='/', env=dict(os.environ, **{MARK: f'{lab_name}/{host_name}'}))
    last, output = '', process.stdout.readline().decode()
    while output and output != 'ready\n':  # mount may print errors about /sys
        last, output = output, process.stdout.readline().decode()
    process.stdout.close()
    if not output:
        raise tool.LabError(f'cannot create host {host_name}: {last.strip()}')
    process.returncode = 0  # it outlives this program, which must not wait for it
    return {'name': host_name, 'pid': process.pid, 'net': tool.namespace_of(process.pid)}


def write_names(lab_name, count, links):
    """Writes /etc/hosts of the hosts: names on the first link are h1, on further links h1-eth1."""
    rows = ['127.0.0.1 localhost', '::1 localhost ip6-localhost', f'{network.address(0, network.HEAD)} head']
    for link in range(links):
        tail = '' if link == 0 else f'-eth{link}'
        rows += [f'{network.address(link, i)} h{i}{tail}' for i in range(1, count + 1)]
    with open(state.folder(lab_name) + '/hosts', 'w', encoding='utf-8') as file:
        file.write('\n'.join(rows) + '\n')


def write_table(lab):
    """Writes the table that lab/agent reads: name, address, pause process."""
    rows = [f'{row["name"]} {network.address(0, i)} {row["pid"]}' for i, row in enumerate(lab['hosts'], 1)]
    rows.append(f'head {network.address(0, network.HEAD)} {lab["head"]["pid"]}')
    with open(state.folder(lab['name']) + '/table', 'w', encoding='utf-8') as file:
        file.write('\n'.join(rows) + '\n')


def is_pause_process(pid, lab_name):
    return any(row.startswith(f'{MARK}={lab_name}/') for row in tool.environment_of(pid))


def pause_processes(lab_name):
    """Pause processes of a lab, even if its state was lost."""
    return [pid for pid in tool.processes() if is_pause_process(pid, lab_name)]


def members(lab_name):
    """Processes of the lab other than its pause processes: those with the variables of `run` and `exec`, in its network
    namespaces or not, and all others in these namespaces. The kernel soon gives the number of a namespace that is gone to
    another one, of a stranger: numbers count only of namespaces that are held open meanwhile, and not those of the state."""
    holding = pause_processes(lab_name)
    mark = f'HERALDLAB={lab_name}'
    marked, others = [], []
    for pid in tool.processes():
        if pid == os.getpid() or pid in holding:
            continue
        environment = tool.environment_of(pid)
        has_mark = mark in environment and any(row.startswith('HERALDLAB_RUN=') for row in environment)
        (marked if has_mark else others).append(pid)
    with contextlib.ExitStack() as held:
        inside = set()
        for pid in holding + marked:
            with contextlib.suppress(OSError):
                inside.add(os.fstat(held.enter_context(open(f'/proc/{pid}/ns/net', 'rb')).fileno()).st_ino)
        inside.discard(tool.namespace_of(os.getpid()))  # a marked process may be in the machine's own network
        return marked + [pid for pid in others if tool.namespace_of(pid) in inside]


def enter(row, words, wd=None):
    """The command that runs `words` on a host, in folder `wd` or the current one."""
    return ['nsenter', '--target', str(row['pid']), '--net', '--uts', '--ipc', '--mount', '--', 'sh', '-c',
            'cd "$0" && exec "$@"', wd or os.getcwd()] + list(words)


def in_network(row, words):
    """The command that runs `words` in a host's network namespace only."""
    return ['nsenter', '--target', str(row['pid']), '--net', '--'] + list(words)
