"""Numbers of perf_event_open(2) and its rings. Source: include/uapi/linux/perf_event.h, Linux 7.1."""

from __future__ import annotations

from collections.abc import Mapping

# --- perf_event_attr
# ---------------------------------------------------------------------------------------------------

ATTR_SIZES: tuple[int, ...] = (64, 72, 80, 96, 104, 112, 120, 128, 136, 144)
"""Sizes that the structure has had: VER0 (2.6.31) to VER9 (config4)."""

PERF_TYPE_HARDWARE = 0
PERF_TYPE_SOFTWARE = 1
PERF_TYPE_TRACEPOINT = 2
PERF_TYPE_HW_CACHE = 3
PERF_TYPE_RAW = 4
PERF_TYPE_BREAKPOINT = 5

HARDWARE_EVENTS: Mapping[str, int] = {
    "cpu-cycles": 0,
    "instructions": 1,
    "cache-references": 2,
    "cache-misses": 3,
    "branch-instructions": 4,
    "branch-misses": 5,
    "bus-cycles": 6,
    "stalled-cycles-frontend": 7,
    "stalled-cycles-backend": 8,
    "ref-cycles": 9,
}
HARDWARE_ALIASES: Mapping[str, str] = {"cycles": "cpu-cycles", "branches": "branch-instructions"}

SOFTWARE_EVENTS: Mapping[str, int] = {
    "cpu-clock": 0,
    "task-clock": 1,
    "page-faults": 2,
    "context-switches": 3,
    "cpu-migrations": 4,
    "minor-faults": 5,
    "major-faults": 6,
    "alignment-faults": 7,
    "emulation-faults": 8,
    "dummy": 9,
    "bpf-output": 10,
    "cgroup-switches": 11,
}
SOFTWARE_ALIASES: Mapping[str, str] = {"cpu": "cpu-clock", "faults": "page-faults", "cs": "context-switches"}

# a hardware cache event is  id | op << 8 | result << 16
CACHE_IDS: Mapping[str, int] = {"l1d": 0, "l1i": 1, "ll": 2, "dtlb": 3, "itlb": 4, "bpu": 5, "node": 6}
CACHE_OPS: Mapping[str, int] = {"read": 0, "write": 1, "prefetch": 2}
CACHE_RESULTS: Mapping[str, int] = {"access": 0, "miss": 1}

PERF_COUNT_SW_CPU_CLOCK = 0
PERF_COUNT_SW_TASK_CLOCK = 1
PERF_COUNT_SW_DUMMY = 9
PERF_COUNT_SW_BPF_OUTPUT = 10

ATTR_FLAGS: tuple[str, ...] = tuple(
    """
disabled inherit pinned exclusive exclude_user exclude_kernel exclude_hv exclude_idle mmap comm freq inherit_stat
enable_on_exec task watermark precise_ip_low precise_ip_high mmap_data sample_id_all exclude_host exclude_guest
exclude_callchain_kernel exclude_callchain_user mmap2 comm_exec use_clockid context_switch write_backward namespaces
ksymbol bpf_event aux_output cgroup text_poke build_id inherit_thread remove_on_exec sigtrap defer_callchain
defer_output
""".split()
)
"""The bits of the 64-bit word at offset 40, lowest first."""
FLAG_DISABLED = 1 << 0
FLAG_INHERIT = 1 << 1
FLAG_PINNED = 1 << 2
FLAG_EXCLUDE_USER = 1 << 4
FLAG_EXCLUDE_KERNEL = 1 << 5
FLAG_EXCLUDE_HV = 1 << 6
FLAG_EXCLUDE_IDLE = 1 << 7
FLAG_MMAP = 1 << 8
FLAG_COMM = 1 << 9
FLAG_FREQ = 1 << 10
FLAG_ENABLE_ON_EXEC = 1 << 12
FLAG_TASK = 1 << 13
FLAG_INHERIT_STAT = 1 << 11
FLAG_WATERMARK = 1 << 14
FLAG_MMAP_DATA = 1 << 17
FLAG_SAMPLE_ID_ALL = 1 << 18
FLAGS_GUEST = 3 << 19
"""exclude_host and exclude_guest."""
FLAG_EXCLUDE_CALLCHAIN_KERNEL = 1 << 21
FLAG_EXCLUDE_CALLCHAIN_USER = 1 << 22
FLAGS_PRECISE = 3 << 15
FLAG_PRECISE_IP_LOW = 1 << 15
FLAG_MMAP2 = 1 << 23
FLAG_COMM_EXEC = 1 << 24
FLAG_USE_CLOCKID = 1 << 25
FLAG_CONTEXT_SWITCH = 1 << 26
FLAG_WRITE_BACKWARD = 1 << 27
FLAG_NAMESPACES = 1 << 28
FLAG_KSYMBOL = 1 << 29
FLAG_BPF_EVENT = 1 << 30
FLAG_CGROUP = 1 << 32
FLAG_TEXT_POKE = 1 << 33
FLAG_BUILD_ID = 1 << 34
FLAG_REMOVE_ON_EXEC = 1 << 36
FLAG_SIGTRAP = 1 << 37

SAMPLE_TYPES: tuple[str, ...] = tuple(
    """
ip tid time addr read callchain id cpu period stream_id raw branch_stack regs_user stack_user weight data_src
identifier transaction regs_intr phys_addr aux cgroup data_page_size code_page_size weight_struct
""".split()
)
"""The bits of ``sample_type``, lowest first."""
PERF_SAMPLE_IP = 1 << 0
PERF_SAMPLE_TID = 1 << 1
PERF_SAMPLE_TIME = 1 << 2
PERF_SAMPLE_ADDR = 1 << 3
PERF_SAMPLE_READ = 1 << 4
PERF_SAMPLE_CALLCHAIN = 1 << 5
PERF_SAMPLE_ID = 1 << 6
PERF_SAMPLE_CPU = 1 << 7
PERF_SAMPLE_PERIOD = 1 << 8
PERF_SAMPLE_STREAM_ID = 1 << 9
PERF_SAMPLE_RAW = 1 << 10
PERF_SAMPLE_BRANCH_STACK = 1 << 11
PERF_SAMPLE_REGS_USER = 1 << 12
PERF_SAMPLE_STACK_USER = 1 << 13
PERF_SAMPLE_WEIGHT = 1 << 14
PERF_SAMPLE_DATA_SRC = 1 << 15
PERF_SAMPLE_IDENTIFIER = 1 << 16
PERF_SAMPLE_REGS_INTR = 1 << 18
PERF_SAMPLE_PHYS_ADDR = 1 << 19
PERF_SAMPLE_TRANSACTION = 1 << 17
PERF_SAMPLE_CGROUP = 1 << 21
PERF_SAMPLE_DATA_PAGE_SIZE = 1 << 22
PERF_SAMPLE_CODE_PAGE_SIZE = 1 << 23
PERF_SAMPLE_WEIGHT_STRUCT = 1 << 24

PERF_SAMPLE_BRANCH_ANY = 1 << 3
PERF_SAMPLE_BRANCH: Mapping[str, int] = {
    name: 1 << bit
    for bit, name in enumerate(
        "u k hv any any_call any_ret ind_call abort_tx in_tx no_tx cond stack ind_jmp call no_flags no_cycles "
        "save_type hw_index priv counter".split()
    )
}
"""``branch_sample_type`` by the names that perf record -j gives to its bits."""
REGISTERS: Mapping[str, tuple[str, ...]] = {
    "x86_64": tuple("ax bx cx dx si di bp sp ip flags cs ss ds es fs gs r8 r9 r10 r11 r12 r13 r14 r15".split()),
    "aarch64": (*(f"x{n}" for n in range(30)), "lr", "sp", "pc"),
}
"""By the bits of ``sample_regs_user`` and ``sample_regs_intr``: arch/*/include/uapi/asm/perf_regs.h."""
NAMESPACES = ("net", "uts", "ipc", "pid", "user", "mnt", "cgroup")
"""In the order of PERF_RECORD_NAMESPACES, as /proc/PID/ns calls them."""

PERF_FORMAT_TOTAL_TIME_ENABLED = 1 << 0
PERF_FORMAT_TOTAL_TIME_RUNNING = 1 << 1
PERF_FORMAT_ID = 1 << 2
PERF_FORMAT_GROUP = 1 << 3
PERF_FORMAT_LOST = 1 << 4

# include/uapi/linux/hw_breakpoint.h
HW_BREAKPOINT_R = 1
HW_BREAKPOINT_W = 2
HW_BREAKPOINT_X = 4

# --- flags of the system call, ioctls
# ------------------------------------------------------------------------------------

PERF_FLAG_PID_CGROUP = 1 << 2
PERF_FLAG_FD_CLOEXEC = 1 << 3

# _IO('$', n), _IOW('$', n, 4 or 8 bytes), ... as asm-generic/ioctl.h packs them (x86-64 and AArch64 alike)
PERF_EVENT_IOC_ENABLE = 0x2400
PERF_EVENT_IOC_DISABLE = 0x2401
PERF_EVENT_IOC_REFRESH = 0x2402
PERF_EVENT_IOC_RESET = 0x2403
PERF_EVENT_IOC_PERIOD = 0x40082404
PERF_EVENT_IOC_SET_OUTPUT = 0x2405
PERF_EVENT_IOC_SET_FILTER = 0x40082406
PERF_EVENT_IOC_ID = 0x80082407
PERF_EVENT_IOC_SET_BPF = 0x40042408
PERF_EVENT_IOC_PAUSE_OUTPUT = 0x40042409
PERF_EVENT_IOC_QUERY_BPF = 0xC008240A
PERF_EVENT_IOC_MODIFY_ATTRIBUTES = 0x4008240B
PERF_IOC_FLAG_GROUP = 1

# --- the mapped ring
# -----------------------------------------------------------------------------------------------------

# struct perf_event_mmap_page: offsets of data_head, data_tail, data_offset, data_size
MMAP_DATA_HEAD = 1024
MMAP_DATA_TAIL = 1032
MMAP_DATA_OFFSET = 1040
MMAP_DATA_SIZE = 1048

PERF_RECORD_TYPES: Mapping[int, str] = {
    1: "MMAP",
    2: "LOST",
    3: "COMM",
    4: "EXIT",
    5: "THROTTLE",
    6: "UNTHROTTLE",
    7: "FORK",
    8: "READ",
    9: "SAMPLE",
    10: "MMAP2",
    11: "AUX",
    12: "ITRACE_START",
    13: "LOST_SAMPLES",
    14: "SWITCH",
    15: "SWITCH_CPU_WIDE",
    16: "NAMESPACES",
    17: "KSYMBOL",
    18: "BPF_EVENT",
    19: "CGROUP",
    20: "TEXT_POKE",
    21: "AUX_OUTPUT_HW_ID",
    22: "CALLCHAIN_DEFERRED",
}
PERF_RECORD_LOST = 2
PERF_RECORD_SAMPLE = 9
PERF_RECORD_LOST_SAMPLES = 13

PERF_CONTEXT_KERNEL = (1 << 64) - 128
PERF_CONTEXT_USER = (1 << 64) - 512
PERF_MAX_STACK_DEPTH = 127
