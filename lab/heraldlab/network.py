# SPDX-License-Identifier: BSD-3-Clause
"""Bridges and links. Link k of host i is eth<k> on the host and port h<i> (h<i>.<k> on further links) of bridge
br<k> in the namespace of the switch. Both ends of a link have the rate; the switch's end has the switch's buffer, the
host's end a larger queue."""
from . import tool

HEAD = 254      # last byte of the address of the head, which is the switch
LARGEST = 250   # hosts
ETHERNET_OVERHEAD = 24  # preamble, checksum, gap
HOST_QUEUE = 1 << 20
LATE = 100e-6  # seconds by which a timer may be late without reducing the link's rate
# The machine's own firewall must not filter the frames of the switch.
NO_FIREWALL = 'for each in /proc/sys/net/bridge/bridge-nf-call-*; do [ ! -e "$each" ] || echo 0 > "$each"; done'
SWITCHES = {
    'snooping': 'IGMP snooping without querier: multicast is flooded',
    'querier': 'IGMP snooping with a querier: only members receive multicast',
    'flood': 'no snooping: multicast is flooded',
    'nomcast': 'multicast is dropped',
}
OFFLOADS = ('tso', 'gso', 'tx-udp-segmentation')


def address(link, number):
    return f'10.77.{link}.{number}'


def port(host, link):
    return host if link == 0 else f'{host}.{link}'


def ports(lab, host):
    return [port(host, link) for link in range(lab['links'])]


def all_ports(lab):
    return [name for row in lab['hosts'] for name in ports(lab, row['name'])]


def switch_batch(lab):
    """The input of `ip -batch` in the switch's namespace."""
    rows = []
    snooping = 1 if lab['switch'] in ('snooping', 'querier') else 0
    querier = 1 if lab['switch'] == 'querier' else 0
    for link in range(lab['links']):
        rows += [f'link add br{link} type bridge mcast_snooping {snooping} mcast_querier {querier}',
                 f'link set br{link} mtu {lab["mtu"]} up',
                 f'addr add {address(link, HEAD)}/24 dev br{link}']
        for row in lab['hosts']:
            name = port(row['name'], link)
            rows += [f'link add {name} mtu {lab["mtu"]} type veth peer name eth{link} mtu {lab["mtu"]} netns {row["pid"]}',
                     f'link set {name} master br{link}', f'link set {name} up']
    return '\n'.join(rows) + '\n'


def host_batch(lab, number):
    rows = []
    for link in range(lab['links']):
        rows += [f'addr add {address(link, number)}/24 broadcast + dev eth{link}',
                 f'addr add fd77:{link}::{number}/64 dev eth{link} nodad', f'link set eth{link} up']
    return '\n'.join(rows) + '\n'


def bits_per_second(rate):
    """From a rate in the notation of tc, such as 100mbit."""
    return float(rate[:-4]) * {'k': 1e3, 'm': 1e6, 'g': 1e9}[rate[-4]]


def shaping(lab, device, limit):
    """The tc command for one end of a link; tbf drops packets that are larger than its burst."""
    burst = max(4096, lab['mtu'] + 14 + ETHERNET_OVERHEAD, int(bits_per_second(lab['rate']) / 8 * LATE))
    return ['tc', 'qdisc', 'add', 'dev', device, 'root', 'tbf', 'rate', lab['rate'], 'burst', str(burst), 'limit',
            str(limit), 'overhead', str(ETHERNET_OVERHEAD)]


def build(lab, in_network):
    """Makes the network of a lab whose hosts exist."""
    head = lab['head']
    tool.run(in_network(head, ['ip', '-batch', '-']), switch_batch(lab))
    tool.run(in_network(head, ['sh', '-c', NO_FIREWALL]))
    for number, row in enumerate(lab['hosts'], 1):
        tool.run(in_network(row, ['ip', '-batch', '-']), host_batch(lab, number))
        for link in range(lab['links']):
            if lab['offloads'] == 'off':
                words = ['ethtool', '-K', f'eth{link}'] + [word for name in OFFLOADS for word in (name, 'off')]
                tool.run(in_network(row, words))
            if lab['rate']:
                tool.run(in_network(row, shaping(lab, f'eth{link}', HOST_QUEUE)))
                tool.run(in_network(head, shaping(lab, port(row['name'], link), lab['buffer'])))


def set_link(lab, host, link, up, in_network):
    """Removes or restores the carrier of a host's link."""
    tool.run(in_network(lab['head'], ['ip', 'link', 'set', port(host, link), 'up' if up else 'down']))
