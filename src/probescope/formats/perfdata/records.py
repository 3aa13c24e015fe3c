"""Record types of perf.data: names as `perf report --stats` prints them, and which need care while walking.

Sources: include/uapi/linux/perf_event.h (kernel records, below 64), tools/lib/perf/include/perf/event.h of Linux 7.0
(perf's own, from 64). simpleperf numbers its records from 32768.
"""

from __future__ import annotations

from collections.abc import Mapping

from probescope.kernel.uapi.perf import PERF_RECORD_TYPES

MMAP, LOST, COMM, EXIT, THROTTLE, UNTHROTTLE, FORK, READ, SAMPLE, MMAP2 = range(1, 11)
AUX, ITRACE_START, LOST_SAMPLES, SWITCH, SWITCH_CPU_WIDE, NAMESPACES = range(11, 17)
KSYMBOL, BPF_EVENT, CGROUP, TEXT_POKE, AUX_OUTPUT_HW_ID, CALLCHAIN_DEFERRED = range(17, 23)

USER_START = 64
HEADER_ATTR, HEADER_EVENT_TYPE, HEADER_TRACING_DATA, HEADER_BUILD_ID = range(64, 68)
FINISHED_ROUND, ID_INDEX, AUXTRACE_INFO, AUXTRACE, AUXTRACE_ERROR = range(68, 73)
THREAD_MAP, CPU_MAP, STAT_CONFIG, STAT, STAT_ROUND, EVENT_UPDATE = range(73, 79)
TIME_CONV, HEADER_FEATURE, COMPRESSED, FINISHED_INIT, COMPRESSED2 = range(79, 84)
SIMPLEPERF_START = 32768

_USER_NAMES = """ATTR EVENT_TYPE TRACING_DATA BUILD_ID FINISHED_ROUND ID_INDEX AUXTRACE_INFO AUXTRACE AUXTRACE_ERROR
THREAD_MAP CPU_MAP STAT_CONFIG STAT STAT_ROUND EVENT_UPDATE TIME_CONV FEATURE COMPRESSED FINISHED_INIT COMPRESSED2
BPF_METADATA SCHEDSTAT_CPU SCHEDSTAT_DOMAIN""".split()

NAMES: Mapping[int, str] = {**PERF_RECORD_TYPES, **dict(enumerate(_USER_NAMES, USER_START))}

#: Records that something else follows, or whose size is not what their header says: the walk stops before them.
STOPS = frozenset({HEADER_TRACING_DATA, AUXTRACE, COMPRESSED, COMPRESSED2})

# the misc word of a record's header
MISC_BUILD_ID_SIZE = 1 << 15  # of HEADER_BUILD_ID
MISC_COMM_EXEC = 1 << 13
MISC_MMAP_DATA = 1 << 13
MISC_MMAP_BUILD_ID = 1 << 14
MISC_SWITCH_OUT = 1 << 13
MISC_SWITCH_OUT_PREEMPT = 1 << 14


def name_of(number: int) -> str:
    return NAMES.get(number, f"{'SIMPLEPERF' if number >= SIMPLEPERF_START else 'UNKNOWN'}_{number}")
