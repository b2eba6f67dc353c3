# SPDX-License-Identifier: BSD-3-Clause
"""A whole lab: up, down, status. `up` leaves either a complete lab or nothing."""
import copy
import signal

from . import faults, hosts, network, state, tool


def _interrupted(number, _frame):
    raise KeyboardInterrupt(number)


def up(name, count, options):
    """Makes a lab and returns its state. options: rate ('' for none), loss, buffer, mtu, links, switch, offloads."""
    tool.need_lab()
    state.create(state.check_name(name))
    before = signal.signal(signal.SIGTERM, _interrupted)
    lab = {'name': name, 'hosts': [], **{key: options[key] for key in ('rate', 'buffer', 'mtu', 'links', 'switch', 'offloads')},
           'faults': {**copy.deepcopy(faults.NONE), 'loss': options['loss']}}
    try:
        hosts.write_names(name, count, lab['links'])
        lab['head'] = hosts.start(name, 'head')
        for number in range(1, count + 1):
            lab['hosts'].append(hosts.start(name, f'h{number}'))
        network.build(lab, hosts.in_network)
        faults.apply(lab, hosts.in_network)
        hosts.write_table(lab)
        state.save(lab)
    except BaseException:
        down(name)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
    return lab


def down(name):
    """Removes a lab, or the remains of one; True if there was anything."""
    state.check_name(name)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # not interruptible
    try:
        found = name in state.names()
        for _ in range(5):  # a process may start others during the search
            running = hosts.members(name)
            pausing = hosts.pause_processes(name)
            if not running and not pausing:
                break
            found = True
            tool.end(running)
            tool.end(pausing, grace_s=0.5)
        state.remove(name)
    finally:
        signal.signal(signal.SIGINT, before)
    return found


def known_labs():
    """Names of labs that have a folder or pause processes."""
    found = set(state.names())
    for pid in tool.processes():
        for row in tool.environment_of(pid):
            if row.startswith(hosts.MARK + '='):
                found.add(row.split('=', 1)[1].split('/')[0])
    return sorted(found)


def describe(name):
    """The lines of `status` for one lab."""
    try:
        lab = state.load(name)
    except (tool.LabError, ValueError):
        return [f'{name}: incomplete: `herald-lab down --name {name}` removes the rest']
    dead = [row['name'] for row in lab['hosts'] + [lab['head']] if not hosts.is_pause_process(row['pid'], name)]
    first, last = lab['hosts'][0]['name'], lab['hosts'][-1]['name']
    rate = f'{lab["rate"]}, {lab["buffer"]} bytes of buffer a port' if lab['rate'] else 'no rate limit'
    lines = [f'{name}: {len(lab["hosts"])} hosts, {first} {network.address(0, 1)} to {last} '
             f'{network.address(0, len(lab["hosts"]))}, head {network.address(0, network.HEAD)}',
             f'  links   {lab["links"]} a host, {rate}, mtu {lab["mtu"]}, offloads {lab["offloads"]}',
             f'  switch  {lab["switch"]}: {network.SWITCHES[lab["switch"]]}',
             f'  faults  {faults.describe(lab["faults"])}',
             f'  running {len(hosts.members(name))} processes']
    if dead:
        lines.append(f'  lost    {", ".join(dead)}: `herald-lab down --name {name}`, then up')
    return lines
