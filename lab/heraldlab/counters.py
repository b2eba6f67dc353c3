# SPDX-License-Identifier: BSD-3-Clause
"""Packets sent and dropped: by ports of the switch, queues of the hosts, rules of faults, and sockets."""
import json

from . import network, tool


def _queue(in_network, row, device):
    found = json.loads(tool.run(in_network(row, ['tc', '-s', '-j', 'qdisc', 'show', 'dev', device])) or '[]')
    for queue in found:
        if queue.get('root'):
            return {name: queue.get(name, 0) for name in ('packets', 'bytes', 'drops')}
    return {'packets': 0, 'bytes': 0, 'drops': 0}


def _rules(in_network, head):
    """Packets that matched rules of faults, by kind: loss, corrupt, duplicate, other drops."""
    total = {'loss': 0, 'corrupt': 0, 'duplicate': 0, 'dropped': 0}
    for row in json.loads(tool.run(in_network(head, ['nft', '-j', 'list', 'ruleset'])))['nftables']:
        rule = row.get('rule')
        if not rule:
            continue
        for word in rule['expr']:
            if 'counter' in word:
                total[rule.get('comment', 'dropped')] += word['counter']['packets']
    return total


def _sockets(in_network, row):
    lines = [line.split() for line in tool.run(in_network(row, ['cat', '/proc/net/snmp'])).splitlines()
             if line.startswith('Udp:')]
    values = dict(zip(lines[0][1:], lines[1][1:]))
    return {'overrun': int(values.get('RcvbufErrors', 0)), 'bad': int(values.get('InCsumErrors', 0))}


def read(lab, in_network):
    """{'ports': {port: ...}, 'hosts': {host: ...}, 'rules': ...}; drops of ports are those of the switch's buffers."""
    result = {'ports': {}, 'hosts': {}, 'rules': _rules(in_network, lab['head'])}
    for row in lab['hosts']:
        queue = {'packets': 0, 'bytes': 0, 'drops': 0}
        for link in range(lab['links']):
            name = network.port(row['name'], link)
            result['ports'][name] = _queue(in_network, lab['head'], name)
            for key, value in _queue(in_network, row, f'eth{link}').items():
                queue[key] += value
        result['hosts'][row['name']] = {**queue, **_sockets(in_network, row)}
    return result


def table(found):
    lines = [f'{"switch port":<14}{"packets":>12}{"bytes":>16}{"dropped":>10}']
    for name, row in found['ports'].items():
        lines.append(f'{"to " + name:<14}{row["packets"]:>12}{row["bytes"]:>16}{row["drops"]:>10}')
    lines.append(f'{"host":<14}{"packets":>12}{"bytes":>16}{"dropped":>10}{"sockets full":>14}{"bad csum":>10}')
    for name, row in found['hosts'].items():
        lines.append(f'{name:<14}{row["packets"]:>12}{row["bytes"]:>16}{row["drops"]:>10}{row["overrun"]:>14}{row["bad"]:>10}')
    rules = found['rules']
    lines.append(f'faults, since their last change: {rules["loss"]} lost, {rules["duplicate"]} duplicated, '
                 f'{rules["corrupt"]} corrupted, {rules["dropped"]} dropped between partitions or as multicast')
    return '\n'.join(lines)
