# SPDX-License-Identifier: BSD-3-Clause
"""Hosts out of network, UTS, IPC and mount namespaces, joined by bridges in a namespace of their own.

cli      commands and help                 state    what is up, on disk
hosts    namespaces and their keepers      network  bridges, links, rates, offloads
faults   loss, duplicates, partitions      jobs     launchers inside the lab
counters what was dropped, and where       tool     commands, errors, /proc
"""
