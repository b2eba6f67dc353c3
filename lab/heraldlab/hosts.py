# SPDX-License-Identifier: BSD-3-Clause
"""Hosts. A host is a set of namespaces (network, UTS, IPC, mount) held by one sleeping process, its keeper. Nothing
is bound or mounted outside of it, so that when keeper and guests have ended the kernel takes everything back.
A keeper is known by the variable HERALDLAB_HOST=LAB/HOST in its environment."""
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
    """Starts a keeper; its row of the state when the namespaces are there."""
    words = ['unshare', '--net', '--uts', '--ipc', '--mount', '--propagation', 'slave', 'sh', '-c', _SETUP, 'keeper',
             host_name, state.folder(lab_name) + '/hosts']
    keeper = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              start_new_session=True, cwd='/', env=dict(os.environ, **{MARK: f'{lab_name}/{host_name}'}))
    last, said = '', keeper.stdout.readline().decode()
    while said and said != 'ready\n':  # what mount says where parts of /sys cannot be had
        last, said = said, keeper.stdout.readline().decode()
    keeper.stdout.close()
    if not said:
        raise tool.LabError(f'host {host_name} could not be made: {last.strip()}')
    keeper.returncode = 0  # it outlives us: nobody waits for it
    return {'name': host_name, 'pid': keeper.pid, 'net': tool.namespace_of(keeper.pid)}


def write_names(lab_name, count, links):
    """The hosts file: every host by its address on the first link; further links as h1-eth1."""
    rows = ['127.0.0.1 localhost', '::1 localhost ip6-localhost', f'{network.address(0, network.HEAD)} head']
    for link in range(links):
        tail = '' if link == 0 else f'-eth{link}'
        rows += [f'{network.address(link, i)} h{i}{tail}' for i in range(1, count + 1)]
    with open(state.folder(lab_name) + '/hosts', 'w', encoding='utf-8') as file:
        file.write('\n'.join(rows) + '\n')


def write_table(lab):
    """What lab/agent reads: name, address, keeper."""
    rows = [f'{row["name"]} {network.address(0, i)} {row["pid"]}' for i, row in enumerate(lab['hosts'], 1)]
    rows.append(f'head {network.address(0, network.HEAD)} {lab["head"]["pid"]}')
    with open(state.folder(lab['name']) + '/table', 'w', encoding='utf-8') as file:
        file.write('\n'.join(rows) + '\n')


def is_keeper(pid, lab_name):
    return any(row.startswith(f'{MARK}={lab_name}/') for row in tool.environment_of(pid))


def keepers(lab_name):
    """Keepers of a lab, also of one whose state was lost."""
    return [pid for pid in tool.processes() if is_keeper(pid, lab_name)]


def guests(lab_name):
    """Processes inside the lab other than its keepers: by their network namespace, and those of a killed run that
    are still outside, by the mark that `run` gives them."""
    holding = keepers(lab_name)
    inside = {tool.namespace_of(pid) for pid in holding}
    try:
        lab = state.load(lab_name)
        inside |= {row['net'] for row in lab['hosts'] + [lab['head']]}
    except (tool.LabError, ValueError):
        pass
    inside.discard(None)
    inside.discard(tool.namespace_of(os.getpid()))  # never our own network, whatever the state says
    mark = f'HERALDLAB={lab_name}'
    found = []
    for pid in tool.processes():
        if pid == os.getpid() or pid in holding:
            continue
        environment = tool.environment_of(pid)
        marked = mark in environment and any(row.startswith('HERALDLAB_RUN=') for row in environment)
        if tool.namespace_of(pid) in inside or marked:
            found.append(pid)
    return found


def enter(row, words, wd=None):
    """The words that run a command on a host, in the folder we are in now, or another."""
    return ['nsenter', '--target', str(row['pid']), '--net', '--uts', '--ipc', '--mount', '--', 'sh', '-c',
            'cd "$0" && exec "$@"', wd or os.getcwd()] + list(words)


def in_network(row, words):
    """The words that run a command of ours in a host's network, and otherwise here."""
    return ['nsenter', '--target', str(row['pid']), '--net', '--'] + list(words)
