# SPDX-License-Identifier: BSD-3-Clause
"""eavesdropper.py record FILE: keeps all frames that pass the interfaces here, until it is terminated.
eavesdropper.py casts FILE PORT GROUP...: joins the groups as another local user, on a port that others use too, and
keeps what comes, until it is terminated.
eavesdropper.py harm FILE ADDRESS COUNT [RATE]: sends COUNT recorded datagrams to that host again, RATE of them a second:
by turns as they were, with a wrong bit, and with random bytes behind the first twelve. Prints how many of each, and how
many a second.
As a module: what such a person can find in the frames."""
import os
import re
import signal
import socket
import struct
import sys
import time

FORCE_RECEIVE_BUFFER = 33  # SO_RCVBUFFORCE
MOST = 200000  # frames
NOBODY = 65534


def keep(file, receiver):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with open(file, 'wb') as out:
        print('ready', flush=True)
        for _ in range(MOST):
            frame = receiver.recv(65536)
            out.write(struct.pack('<I', len(frame)) + frame)
            out.flush()


def record(file):
    receiver = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))  # ETH_P_ALL
    receiver.setsockopt(socket.SOL_SOCKET, FORCE_RECEIVE_BUFFER, 64 << 20)
    keep(file, receiver)


def casts(file, port, groups):
    with open(file, 'wb'):
        os.chown(file, NOBODY, NOBODY)
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    receiver.bind(('', port))
    for group in groups:
        receiver.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                            struct.pack('<4s4si', socket.inet_aton(group), bytes(4), socket.if_nametoindex('eth0')))
    keep(file, receiver)


def payloads_to(address, file):
    """(port, payload) of each recorded datagram to that host."""
    return [(struct.unpack_from('>H', frame, 36)[0], frame[42:]) for frame in read(file)
            if frame[12:14] == b'\x08\x00' and frame[23] == 17 and frame[30:34] == socket.inet_aton(address)]


def harm(file, address, count, rate=0):
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    copies = payloads_to(address, file)
    sent = [0, 0, 0]
    start = time.monotonic()
    for number in range(count if copies else 0):
        port, payload = copies[number // 3 % len(copies)]
        if number % 3 == 1 and payload:
            at = number * 7919 % (8 * len(payload))
            payload = payload[:at // 8] + bytes([payload[at // 8] ^ 1 << at % 8]) + payload[at // 8 + 1:]
        elif number % 3 == 2:
            payload = payload[:12] + os.urandom(len(payload[12:]))
        if rate and number % 100 == 0:
            time.sleep(max(0, start + number / rate - time.monotonic()))
        try:
            sender.sendto(payload, (address, port))
            sent[number % 3] += 1
        except OSError:
            pass
    print(*sent, round(sum(sent) / (time.monotonic() - start)), flush=True)


def read(file):
    with open(file, 'rb') as kept:
        data = kept.read()
    frames, at = [], 0
    while at + 4 <= len(data):
        size = struct.unpack_from('<I', data, at)[0]
        frames.append(data[at + 4:at + 4 + size])
        at += 4 + size
    return frames


def split(frames):
    """(payloads of UDP, bytes of all TCP connections)."""
    datagrams, streams = [], {}
    for frame in frames:
        if frame[12:14] != b'\x08\x00':
            continue
        ip = frame[14:14 + struct.unpack_from('>H', frame, 16)[0]]
        body = ip[(ip[0] & 15) * 4:]
        if ip[9] == 17:
            datagrams.append(body[8:])
        elif ip[9] == 6:
            streams.setdefault(ip[12:20] + body[:4], bytearray()).extend(body[(body[12] >> 4) * 4:])
    return datagrams, list(streams.values())


def hex_texts(data, depth=3):
    """Runs of hexadecimal digits, also in what such runs encode."""
    for run in re.findall(rb'[0-9a-f]{32,}', data):
        yield run
        if depth > 0:
            for start in (0, 1):
                even = run[start:start + (len(run) - start) // 2 * 2]
                yield from hex_texts(bytes.fromhex(even.decode()), depth - 1)


def possible_keys(streams):
    """All numbers of 16 bytes that were sent as digits."""
    found = set()
    for data in streams:
        for run in hex_texts(bytes(data)):
            found.update(run[at:at + 32] for at in range(len(run) - 31))
    return found


CRC = []
for _byte in range(256):
    for _ in range(8):
        _byte = _byte >> 1 ^ (0x82f63b78 if _byte & 1 else 0)
    CRC.append(_byte)


def crc32c(data):
    value = 0xffffffff
    for byte in data:
        value = value >> 8 ^ CRC[(value ^ byte) & 255]
    return value ^ 0xffffffff


def siphash(key, data):
    mask = (1 << 64) - 1
    k0, k1 = key
    v = [k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573]

    def turn(value, bits):
        return (value << bits | value >> 64 - bits) & mask

    def rounds(count):
        a, b, c, d = v
        for _ in range(count):
            a, c = a + b & mask, c + d & mask
            b, d = turn(b, 13) ^ a, turn(d, 16) ^ c
            a = turn(a, 32) + d & mask
            c = c + b & mask
            d, b = turn(d, 21) ^ a, turn(b, 17) ^ c
            c = turn(c, 32)
        v[:] = a, b, c, d

    data += bytes(7 - len(data) % 8) + bytes([len(data) & 255])
    for at in range(0, len(data), 8):
        word = struct.unpack_from('<Q', data, at)[0]
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xff
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def verifies(key, datagram, ranks):
    """Whether the tag of an ack is right under the key, for any receiver and epoch."""
    head = datagram[:12] + bytes(8) + datagram[20:]
    tag = struct.unpack_from('<Q', datagram, 12)[0]
    number = (int(key[:16], 16), int(key[16:], 16))
    return any(siphash(number, head + struct.pack('<III', to, datagram[3], 0)) == tag for to in range(ranks))


def acks(datagrams):
    """Datagrams of Herald without body: their tags are quickly computed."""
    return [one for one in datagrams if len(one) in (28, 44) and one[:2] == b'\x01\x02' and
            len(one) == (28 if one[2] & 16 else 44)]


if __name__ == '__main__':
    if sys.argv[1] == 'record':
        record(sys.argv[2])
    elif sys.argv[1] == 'harm':
        harm(sys.argv[2], sys.argv[3], *map(int, sys.argv[4:]))
    else:
        casts(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
