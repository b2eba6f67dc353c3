# SPDX-License-Identifier: BSD-3-Clause
"""Faults of the network, as rules of nftables in the switch's namespace. The faults of a lab are one dictionary; every
change replaces all rules in one transaction, so that the dictionary describes the rules.

loss, duplicate, corrupt   parts per million, of UDP packets only: the launchers' TCP is not affected
loss_of                    udp; all: of all IP packets, to compare with libraries that use TCP
loss_at                    each: independently at each receiver; all: the same packets at all receivers; HOST: on the
                           link to this host
multicast                  parts per million, of packets to groups of jobs, independently at each receiver
multicast_at               affected hosts; empty: all
partition                  hosts that reach only each other
cut                        ports that are down
mtu                        ports that drop longer UDP packets, and what they let pass
"""
import re

from . import network, tool

MILLION = 1000000
NONE = {'loss': 0, 'loss_at': 'each', 'loss_of': 'udp', 'duplicate': 0, 'corrupt': 0, 'multicast': 0, 'multicast_at': [],
        'partition': [], 'cut': [], 'mtu': {}}
_ON_BRIDGE = {'udp': 'ether type { ip, ip6 } meta l4proto udp', 'all': 'ether type { ip, ip6 }'}
_ON_PORT = {'udp': 'meta l4proto udp', 'all': 'meta protocol { ip, ip6 }'}


def part(text):
    """Parts per million from 1%, 0.5% or 0.01."""
    match = re.fullmatch(r'(\d+(?:\.\d+)?)(%?)', text)
    value = float(match.group(1)) * (0.01 if match.group(2) else 1) if match else 2
    if value > 1:
        raise tool.LabError(f'{text}: give a share such as 1%, 0.5% or 0.01')
    return round(value * MILLION)


def _probability(parts):
    return f'numgen random mod {MILLION} < {parts}' if parts < MILLION else ''


def _set(names):
    return '{ ' + ', '.join(f'"{name}"' for name in names) + ' }'


def _chain(name, hook, rows, devices=''):
    body = '\n'.join(f'    {row}' for row in rows)
    return f'  chain {name} {{\n    type filter hook {hook} {devices} priority 0; policy accept;\n{body}\n  }}\n'


def bridge_rules(lab):
    faults, rows = lab['faults'], []
    if faults['partition']:
        inside = _set([name for host in faults['partition'] for name in network.ports(lab, host)])
        rows += [f'iifname {inside} oifname != {inside} counter drop', f'iifname != {inside} oifname {inside} counter drop']
    if lab['switch'] == 'nomcast':
        # IPv6 neighbour discovery needs multicast.
        rows += ['ip daddr 224.0.0.0/4 counter drop', 'ip6 daddr ff02::1:ff00:0/104 accept', 'ip6 daddr ff00::/8 counter drop']
    if faults['multicast']:
        names = [name for host in faults['multicast_at'] for name in network.ports(lab, host)]
        where = f'oifname {_set(names)} ' if names else ''
        rows += [f'{where}{group} {_probability(faults["multicast"])} counter drop comment "multicast"'
                 for group in ('ip daddr 239.0.0.0/8', 'ip6 daddr ff15::/16')]
    for name, longest in sorted(faults['mtu'].items()):
        for side in ('iifname', 'oifname'):
            rows += [f'{side} "{name}" ip protocol udp ip length > {longest} counter drop comment "mtu"',
                     f'{side} "{name}" ip6 nexthdr udp ip6 length > {longest - 40} counter drop comment "mtu"']
    if faults['loss'] and faults['loss_at'] == 'each':
        rows.append(f'{_ON_BRIDGE[faults["loss_of"]]} {_probability(faults["loss"])} counter drop comment "loss"')
    return _chain('forward', 'forward', rows)


def port_rules(lab):
    faults, chains = lab['faults'], []
    if faults['loss'] and faults['loss_at'] == 'all':
        rows = [f'{_ON_PORT[faults["loss_of"]]} {_probability(faults["loss"])} counter drop comment "loss"']
        chains.append(_chain('common', 'ingress', rows, f'devices = {_set(network.all_ports(lab))}'))
    for name in network.all_ports(lab):
        rows = []
        if faults['loss'] and name.split('.')[0] == faults['loss_at']:
            rows.append(f'{_ON_PORT[faults["loss_of"]]} {_probability(faults["loss"])} counter drop comment "loss"')
        if faults['corrupt']:
            # Four bytes inside the packet; veth links do not compute UDP checksums, so these do not detect it.
            rows.append(f'meta l4proto udp meta length > 100 {_probability(faults["corrupt"])} counter '
                        '@th,512,32 set 0x5aa5c33c comment "corrupt"')
        if faults['duplicate']:
            rows.append(f'meta l4proto udp {_probability(faults["duplicate"])} counter dup to "{name}" comment "duplicate"')
        if rows:
            chains.append(_chain('to_' + name.replace('.', '_'), 'egress', rows, f'device "{name}"'))
    return ''.join(chains)


def rules(lab):
    """The input of nft for the lab's faults."""
    text = ''
    for family, chains in (('bridge', bridge_rules(lab)), ('netdev', port_rules(lab))):
        text += f'add table {family} lab\ndelete table {family} lab\ntable {family} lab {{\n{chains}}}\n'
    return text


def apply(lab, in_network):
    tool.run(in_network(lab['head'], ['nft', '-f', '-']), rules(lab))


def describe(faults):
    words = []
    if faults['loss']:
        where = {'each': 'independently at each receiver', 'all': 'the same at all receivers'}.get(
            faults['loss_at'], f'on the link to {faults["loss_at"]}')
        words.append(f'{faults["loss"] / 1e4:g}% of {"UDP" if faults["loss_of"] == "udp" else "all"} packets lost, {where}')
    for kind, text in (('duplicate', 'duplicated'), ('corrupt', 'corrupted')):
        if faults[kind]:
            words.append(f'{faults[kind] / 1e4:g}% of UDP packets {text}')
    if faults['multicast']:
        where = f' to {", ".join(faults["multicast_at"])}' if faults['multicast_at'] else ''
        words.append(f'{faults["multicast"] / 1e4:g}% of multicast{where} dropped')
    if faults['partition']:
        words.append(f'{", ".join(faults["partition"])} partitioned from the others')
    if faults['cut']:
        words.append(f'links down: {", ".join(faults["cut"])}')
    for name, bytes_ in sorted(faults['mtu'].items()):
        words.append(f'the port {name} drops UDP packets of more than {bytes_} bytes')
    return '; '.join(words) or 'none'
