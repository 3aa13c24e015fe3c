"""Constants of the kernel's user interface, as data: ``bpf``, ``helpers``, ``perf``.

In: nothing. Out: integers and name tables. Source: include/uapi/linux/{bpf,perf_event}.h of Linux 7.1. Anyone may
import this; the pure compiler gets its numbers here too.
"""
