# SPDX-License-Identifier: BSD-3-Clause
"""A whole lab: up, down, what is there. `up` leaves either a lab or nothing."""
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
    """Takes a lab down, or what is left of one; True if there was anything."""
    state.check_name(name)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # once begun, it is done
    try:
        found = name in state.names()
        for _ in range(5):  # what is being started while we look is found the next time
            running = hosts.guests(name)
            keepers = hosts.keepers(name)
            if not running and not keepers:
                break
            found = True
            tool.end(running)
            tool.end(keepers, patience=0.5)
        state.remove(name)
    finally:
        signal.signal(signal.SIGINT, before)
    return found


def leftovers():
    """Names of labs that have a folder or keepers."""
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
        return [f'{name}: half made, or half gone: `herald-lab down --name {name}` removes the rest']
    dead = [row['name'] for row in lab['hosts'] + [lab['head']] if not hosts.is_keeper(row['pid'], name)]
    first, last = lab['hosts'][0]['name'], lab['hosts'][-1]['name']
    rate = f'{lab["rate"]}, {lab["buffer"]} bytes of buffer a port' if lab['rate'] else 'as fast as the machine'
    lines = [f'{name}: {len(lab["hosts"])} hosts, {first} {network.address(0, 1)} to {last} '
             f'{network.address(0, len(lab["hosts"]))}, head {network.address(0, network.HEAD)}',
             f'  links   {lab["links"]} a host, {rate}, mtu {lab["mtu"]}, offloads {lab["offloads"]}',
             f'  switch  {lab["switch"]}: {network.SWITCHES[lab["switch"]]}',
             f'  faults  {faults.describe(lab["faults"])}',
             f'  running {len(hosts.guests(name))} processes']
    if dead:
        lines.append(f'  gone    {", ".join(dead)}: `herald-lab down --name {name}` and up again')
    return lines
