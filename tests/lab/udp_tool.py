# SPDX-License-Identifier: BSD-3-Clause
"""udp_tool.py sink SIZE [GROUP]: counts numbered packets until an end marker: "received different damaged".
udp_tool.py send ADDRESS COUNT SIZE: sends COUNT packets in small bursts, then end markers until it is killed.
udp_tool.py blast ADDRESS COUNT SIZE [PORT]: sends COUNT packets as fast as it can, waiting where its own queue is full.
udp_tool.py record FILE COUNT: keeps the first COUNT datagrams of Herald that pass eth0.
udp_tool.py replay FILE ADDRESS PORT: sends them there.
udp_tool.py forge ADDRESS PORT COUNT: sends COUNT datagrams that look like Herald's, but for their tags."""
import random
import socket
import struct
import sys
import time

PORT = 7700
FORCE_RECEIVE_BUFFER = 33  # SO_RCVBUFFORCE
END = 0xffffffff


def body(number, size):
    return struct.pack('<I', number) + bytes((number + i) & 255 for i in range(size - 4))


def sink(size, group):
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.setsockopt(socket.SOL_SOCKET, FORCE_RECEIVE_BUFFER, 16 << 20)
    receiver.bind(('', PORT))
    if group:
        receiver.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + struct.pack('<ii', 0, index()))
    print('ready', flush=True)
    received, damaged, seen = 0, 0, set()
    while True:
        packet = receiver.recv(65536)
        number = struct.unpack_from('<I', packet)[0]
        if number == END:
            break
        received += 1
        seen.add(number)
        damaged += packet != body(number, size)
    print(received, len(seen), damaged, flush=True)


def index():
    return socket.if_nametoindex('eth0')


def sender_to(address, port):
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 << 10)
    sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, struct.pack('<4s4si', bytes(4), bytes(4), index()))
    sender.connect((address, port))
    return sender


def send(address, count, size, paced, port):
    sender = sender_to(address, port)
    for number in range(count):
        try:
            sender.send(body(number, size))
        except ConnectionRefusedError:
            pass
        if paced and number % 20 == 19:
            time.sleep(0.001)
    while paced:
        time.sleep(0.05)
        sender.send(struct.pack('<I', END))


def record(path, count):
    listener = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
    listener.bind(('eth0', 0x0800))
    print('ready', flush=True)
    found = []
    while len(found) < count:
        packet = listener.recv(65536)
        payload = packet[28:]  # after the headers of IP and UDP
        if packet[9] == socket.IPPROTO_UDP and len(payload) >= 20 and payload[0] == 1:
            found.append(payload.hex())
    with open(path, 'w', encoding='ascii') as file:
        file.write('\n'.join(found))


def replay(path, address, port):
    with open(path, encoding='ascii') as file:
        shower(address, port, [bytes.fromhex(line) for line in file.read().split()])


def forge(address, port, count):
    """Of every kind, with its valid flags, from every rank; with acknowledgments of everything and unlimited credit."""
    chance = random.Random(port)
    shower(address, port, [
        struct.pack('<BBBBIIQ', 1, chance.randint(1, 8), chance.choice((0, 1, 5, 9, 13)), 0, chance.randint(0, 5),
                    chance.choice((0, 0xffffff00, chance.getrandbits(32))), chance.getrandbits(64)) +
        chance.randbytes(chance.choice((0, 8, 24, 56, 1400))) for _ in range(count)])


def shower(address, port, packets):
    sender = sender_to(address, port)
    for number, packet in enumerate(packets):
        try:
            sender.send(packet)
        except ConnectionRefusedError:
            pass
        if number % 20 == 19:
            time.sleep(0.001)


if sys.argv[1] == 'record':
    record(sys.argv[2], int(sys.argv[3]))
elif sys.argv[1] == 'replay':
    replay(sys.argv[2], sys.argv[3], int(sys.argv[4]))
elif sys.argv[1] == 'forge':
    forge(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
elif sys.argv[1] == 'sink':
    sink(int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else '')
else:
    send(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[1] == 'send', int(sys.argv[5]) if len(sys.argv) > 5 else PORT)
