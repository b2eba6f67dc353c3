# SPDX-License-Identifier: BSD-3-Clause
"""The commands of herald-lab and their help."""
import argparse
import json
import os
import re
import sys

from . import counters, faults, hosts, jobs, labs, network, state, tool

_TEXT = '''hosts and a switch made from Linux namespaces, to run MPI jobs on. Needs root. Each host has its own network,
host name, shared memory and /etc/hosts; files, process numbers and the clock are the machine's.'''
_MORE = '''examples:
  herald-lab up 8 --rate 100mbit --loss 1%
  herald-lab run ./a.out                      one rank on each host, under Open MPI's mpirun
  herald-lab run --engine hydra -n 16 ./a.out
  herald-lab exec h1 ping -c 3 h2
  herald-lab fault partition h1,h2            then: herald-lab fault heal
  herald-lab counters                         packets that the switch dropped
  herald-lab down'''


def bytes_of(text):
    match = re.fullmatch(r'(\d+)([kKmM]?)', text)
    if not match:
        raise argparse.ArgumentTypeError(f'{text}: bytes, or with k or M')
    return int(match.group(1)) << {'': 0, 'k': 10, 'm': 20}[match.group(2).lower()]


def rate_of(text):
    if text in ('none', ''):
        return ''
    if not re.fullmatch(r'[1-9]\d*(\.\d+)?[kmg]bit', text):
        raise argparse.ArgumentTypeError(f'{text}: a rate such as 100mbit or 1gbit, or none')
    return text


def do_up(options):
    if not 1 <= options.hosts <= network.LARGEST:
        raise tool.LabError(f'up {options.hosts}: 1 to {network.LARGEST} hosts')
    if not 1 <= options.links <= 8 or not 576 <= options.mtu <= 65535:
        raise tool.LabError(f'--links {options.links} --mtu {options.mtu}: 1 to 8 links, an MTU of 576 to 65535 bytes')
    wanted = {key: getattr(options, key) for key in ('rate', 'buffer', 'mtu', 'links', 'switch', 'offloads')}
    labs.up(options.name, options.hosts, {**wanted, 'loss': faults.part(options.loss)})
    print('\n'.join(labs.describe(options.name)))


def do_down(options):
    names = labs.known_labs() if options.all else [options.name]
    if os.geteuid() != 0:
        raise tool.LabError('removing a lab needs root')
    for name in names:
        print(f'{name}: removed' if labs.down(name) else f'{name}: nothing to remove')


def do_status(_options):
    if os.geteuid() != 0:
        raise tool.LabError('the status of a lab needs root')
    print('\n'.join(line for name in labs.known_labs() for line in labs.describe(name)) or 'no lab is running')


def do_check(_options):
    reason = tool.why_not()
    print(reason or 'this machine can have a lab')
    return 77 if reason else 0


def do_run(options):
    lab = state.load(options.name)
    if not options.program:
        raise tool.LabError('run: no program given')
    chosen = options.hosts.split(',') if options.hosts else None
    ranks, ppn, names = jobs.placement(lab, options.n, options.ppn, chosen)
    for pair in options.env:
        name, _, value = pair.partition('=')
        os.environ[name] = value
    words = jobs.launcher_words(options.engine, ranks, ppn, names)
    if options.show:
        print(' '.join(words + options.program))
        return 0
    return jobs.on_host(lab, lab['head'], words + options.program, options.timeout)


def do_exec(options):
    lab = state.load(options.name)
    if not options.command:
        raise tool.LabError(f'exec {options.host}: no command given')
    rows = lab['hosts'] if options.host == 'all' else [state.host(lab, options.host)]
    return max(jobs.on_host(lab, row, options.command, options.timeout) for row in rows)


def _hosts_named(lab, text):
    names = text.split(',')
    for name in names:
        if state.host(lab, name) is lab['head']:
            raise tool.LabError('the head is the switch: only hosts have such faults')
    return names


def _links_named(lab, text):
    """A host, and the numbers of the links that h3 or h3:eth1 names."""
    host, _, link = text.partition(':')
    _hosts_named(lab, host)
    links = [int(link.removeprefix('eth'))] if link.removeprefix('eth').isdigit() else list(range(lab['links']))
    if links[-1] >= lab['links']:
        raise tool.LabError(f'{text}: there is no such link; h3:eth0 is the first link of h3')
    return host, links


def _set_mtu(lab, text, mtu):
    if not mtu.isdigit() or not 600 <= int(mtu) <= lab['mtu']:
        raise tool.LabError(f'{mtu}: the MTU of a port is 600 to {lab["mtu"]}')
    host, links = _links_named(lab, text)
    for name in (network.port(host, number) for number in links):
        lab['faults']['mtu'].pop(name, None)
        if int(mtu) != lab['mtu']:
            lab['faults']['mtu'][name] = int(mtu)


def _cut(lab, text, up):
    host, links = _links_named(lab, text)
    for number in links:
        network.set_link(lab, host, number, up, hosts.in_network)
    ports = {network.port(host, number) for number in links}
    cut = set(lab['faults']['cut'])
    lab['faults']['cut'] = sorted(cut - ports if up else cut | ports)


def do_fault(options):
    lab = state.load(options.name)
    now, kind, words = lab['faults'], options.kind, options.words
    usage = {'loss': 1, 'duplicate': 1, 'corrupt': 1, 'multicast': 1, 'partition': 1, 'link': 2, 'mtu': 2, 'kill': 1, 'heal': 0}
    if len(words) != usage[kind] or (kind == 'link' and words[1] not in ('up', 'down')):
        raise tool.LabError(f'fault {kind} {" ".join(words)}: see `herald-lab fault --help`')
    if kind in ('loss', 'duplicate', 'corrupt', 'multicast'):
        now[kind] = faults.part(words[0])
    if kind == 'loss':
        if options.at not in ('each', 'all'):
            _hosts_named(lab, options.at)
        now['loss_at'], now['loss_of'] = options.at, options.of
    if kind == 'multicast':
        now['multicast_at'] = [] if options.at in ('each', 'all') else _hosts_named(lab, options.at)
    if kind == 'partition':
        now['partition'] = _hosts_named(lab, words[0])
    if kind == 'link':
        _cut(lab, words[0], words[1] == 'up')
    if kind == 'mtu':
        _set_mtu(lab, words[0], words[1])
    if kind == 'kill':
        _cut(lab, words[0], False)
        victim = state.host(lab, words[0])['net']
        tool.end([pid for pid in hosts.members(options.name) if tool.namespace_of(pid) == victim], grace_s=0)
    if kind == 'heal':
        for name in list(now['cut']):
            host, _, link = name.partition('.')
            _cut(lab, f'{host}:{link or 0}', True)
        now.update(faults.NONE, partition=[], cut=[], mtu={})
    faults.apply(lab, hosts.in_network)
    state.save(lab)
    print(f'faults: {faults.describe(now)}')


def do_counters(options):
    found = counters.read(state.load(options.name), hosts.in_network)
    print(json.dumps(found) if options.json else counters.table(found))


def parser():
    top = argparse.ArgumentParser('herald-lab', description=_TEXT, epilog=_MORE,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    named = argparse.ArgumentParser(add_help=False)
    named.add_argument('--name', default='lab', help='name of the lab (default: lab)')
    commands = top.add_subparsers(required=True, metavar='COMMAND')

    def command(name, do, text, **more):
        one = commands.add_parser(name, help=text, description=text, parents=[named],
                                  formatter_class=argparse.RawDescriptionHelpFormatter, **more)
        one.set_defaults(do=do)
        return one

    one = command('up', do_up, 'make hosts h1 to hN and the switch between them',
                  epilog='switches:\n' + '\n'.join(f'  {key:<9} {text}' for key, text in network.SWITCHES.items()))
    one.add_argument('hosts', type=int, metavar='N')
    one.add_argument('--rate', type=rate_of, default='', help='rate of every link, such as 100mbit or 1gbit (default: none)')
    one.add_argument('--buffer', type=bytes_of, default=256 << 10, help="the switch's buffer for each port, with --rate (default: 256k)")
    one.add_argument('--loss', default='0', help='share of UDP packets that each receiver loses, such as 1%%')
    one.add_argument('--mtu', type=int, default=1500, help='largest packet, in bytes (default: 1500)')
    one.add_argument('--links', type=int, default=1, help='links of every host, each to a separate switch (default: 1)')
    one.add_argument('--switch', choices=network.SWITCHES, default='snooping', help='handling of multicast (default: snooping)')
    one.add_argument('--offloads', choices=('on', 'off'), default='off',
                     help='on: packets of up to 64 KiB cross the switch, unlike on real switches (default: off)')
    one = command('down', do_down, 'end all processes of the lab and remove it, also the remains of a killed `up`')
    one.add_argument('--all', action='store_true', help='all labs of this machine')
    command('status', do_status, 'list the running labs')
    command('check', do_check, 'whether this machine can have a lab (exit code 77 and the reason: no)')
    one = command('run', do_run, 'start an MPI program on the hosts, from the head')
    one.add_argument('--engine', choices=jobs.ENGINES, default='mpirun', help="Open MPI's mpirun (PMIx) or Hydra (PMI-1)")
    one.add_argument('-n', type=int, help='ranks (default: --ppn on every host)')
    one.add_argument('--ppn', type=int, help='ranks on a host (default: the minimum)')
    one.add_argument('--hosts', help='only these hosts, in this order: h1,h3')
    one.add_argument('--env', action='append', default=[], metavar='NAME=VALUE', help='set for all ranks; may be repeated')
    one.add_argument('--timeout', type=float, metavar='SECONDS', help='end it after this time, with exit code 124')
    one.add_argument('--show', action='store_true', help='print the command instead of running it')
    one.add_argument('program', nargs=argparse.REMAINDER, metavar='PROGRAM ARGS')
    one = command('exec', do_exec, 'run a command on a host, on the head, or on `all` hosts one after the other')
    one.add_argument('--timeout', type=float, metavar='SECONDS', help='end it after this time, with exit code 124')
    one.add_argument('host')
    one.add_argument('command', nargs=argparse.REMAINDER, metavar='COMMAND')
    one = command('fault', do_fault, 'inject and remove faults of the network', epilog='''faults:
  loss 10% [--at each|all|h3]  lose UDP packets: independently at each receiver, the same at all, or on one link
  duplicate 1%                 deliver UDP packets twice
  corrupt 1%                   change four bytes of UDP packets; their checksum does not show it
  multicast 100% [--at h3,h4]  drop multicast of jobs, to all or to these; 0%: forward it again
  partition h1,h2              these reach only each other
  link h3 down                 remove the carrier of all links of h3 (h3:eth1: of one link); up: restore it
  mtu h3 1400                  the port of h3 drops longer UDP packets, in both directions, and says nothing
  kill h3                      set the links of a host down and kill its processes
  heal                         remove all faults''')
    one.add_argument('kind', choices=('loss', 'duplicate', 'corrupt', 'multicast', 'partition', 'link', 'mtu', 'kill', 'heal'))
    one.add_argument('words', nargs='*')
    one.add_argument('--at', default='each', help=argparse.SUPPRESS)
    one.add_argument('--of', default='udp', choices=('udp', 'all'), help='loss of UDP packets only, or of all IP packets')
    one = command('counters', do_counters, 'packets sent and dropped by switch ports, hosts and faults')
    one.add_argument('--json', action='store_true')
    return top


def main(arguments):
    options = parser().parse_args(arguments)
    try:
        state.check_name(options.name)
        return options.do(options) or 0
    except tool.LabError as error:
        print(f'herald-lab: {error}', file=sys.stderr)
        return 1
    except PermissionError as error:
        print(f'herald-lab: {error}: it needs root', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('herald-lab: interrupted', file=sys.stderr)
        return 130
