# SPDX-License-Identifier: BSD-3-Clause
"""Hosts made from network, UTS, IPC and mount namespaces, connected by bridges in a separate namespace.

cli      commands and help                     state    running labs, on disk
hosts    namespaces and their pause processes  network  bridges, links, rates, offloads
faults   loss, duplicates, partitions          jobs     launchers inside the lab
counters dropped packets                       tool     commands, errors, /proc
"""
