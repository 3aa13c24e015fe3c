"""Numbers of bpf(2). Source: include/uapi/linux/bpf.h, Linux 7.1. Names without their prefix are in the tuples, by
number."""

from __future__ import annotations

from collections.abc import Mapping


def _numbers(names: tuple[str, ...]) -> Mapping[str, int]:
    return {name: number for number, name in enumerate(names)}


# --- commands
# ----------------------------------------------------------------------------------------------------------

COMMANDS: tuple[str, ...] = tuple(
    """
MAP_CREATE MAP_LOOKUP_ELEM MAP_UPDATE_ELEM MAP_DELETE_ELEM MAP_GET_NEXT_KEY PROG_LOAD OBJ_PIN OBJ_GET PROG_ATTACH
PROG_DETACH PROG_TEST_RUN PROG_GET_NEXT_ID MAP_GET_NEXT_ID PROG_GET_FD_BY_ID MAP_GET_FD_BY_ID OBJ_GET_INFO_BY_FD
PROG_QUERY RAW_TRACEPOINT_OPEN BTF_LOAD BTF_GET_FD_BY_ID TASK_FD_QUERY MAP_LOOKUP_AND_DELETE_ELEM MAP_FREEZE
BTF_GET_NEXT_ID MAP_LOOKUP_BATCH MAP_LOOKUP_AND_DELETE_BATCH MAP_UPDATE_BATCH MAP_DELETE_BATCH LINK_CREATE LINK_UPDATE
LINK_GET_FD_BY_ID LINK_GET_NEXT_ID ENABLE_STATS ITER_CREATE LINK_DETACH PROG_BIND_MAP TOKEN_CREATE
PROG_STREAM_READ_BY_FD PROG_ASSOC_STRUCT_OPS
""".split()
)
BPF_MAP_CREATE = 0
BPF_MAP_LOOKUP_ELEM = 1
BPF_MAP_UPDATE_ELEM = 2
BPF_MAP_DELETE_ELEM = 3
BPF_MAP_GET_NEXT_KEY = 4
BPF_PROG_LOAD = 5
BPF_OBJ_PIN = 6
BPF_OBJ_GET = 7
BPF_PROG_TEST_RUN = 10
BPF_PROG_GET_NEXT_ID = 11
BPF_MAP_GET_NEXT_ID = 12
BPF_PROG_GET_FD_BY_ID = 13
BPF_MAP_GET_FD_BY_ID = 14
BPF_OBJ_GET_INFO_BY_FD = 15
BPF_RAW_TRACEPOINT_OPEN = 17
BPF_BTF_LOAD = 18
BPF_BTF_GET_FD_BY_ID = 19
BPF_TASK_FD_QUERY = 20
BPF_MAP_LOOKUP_AND_DELETE_ELEM = 21
BPF_MAP_FREEZE = 22
BPF_BTF_GET_NEXT_ID = 23
BPF_MAP_LOOKUP_BATCH = 24
BPF_MAP_LOOKUP_AND_DELETE_BATCH = 25
BPF_MAP_UPDATE_BATCH = 26
BPF_MAP_DELETE_BATCH = 27
BPF_LINK_CREATE = 28
BPF_LINK_GET_FD_BY_ID = 30
BPF_LINK_GET_NEXT_ID = 31
BPF_ENABLE_STATS = 32
BPF_ITER_CREATE = 33
BPF_LINK_DETACH = 34
BPF_PROG_BIND_MAP = 35

# --- maps
# --------------------------------------------------------------------------------------------------------------

MAP_TYPES: tuple[str, ...] = tuple(
    """
unspec hash array prog_array perf_event_array percpu_hash percpu_array stack_trace cgroup_array lru_hash
lru_percpu_hash lpm_trie array_of_maps hash_of_maps devmap sockmap cpumap xskmap sockhash cgroup_storage
reuseport_sockarray percpu_cgroup_storage queue stack sk_storage devmap_hash struct_ops ringbuf inode_storage
task_storage bloom_filter user_ringbuf cgrp_storage arena insn_array rhash
""".split()
)
MAP_TYPE_IDS = _numbers(MAP_TYPES)
BPF_MAP_TYPE_HASH = 1
BPF_MAP_TYPE_ARRAY = 2
BPF_MAP_TYPE_PROG_ARRAY = 3
BPF_MAP_TYPE_PERF_EVENT_ARRAY = 4
BPF_MAP_TYPE_PERCPU_HASH = 5
BPF_MAP_TYPE_PERCPU_ARRAY = 6
BPF_MAP_TYPE_STACK_TRACE = 7
BPF_MAP_TYPE_CGROUP_ARRAY = 8
BPF_MAP_TYPE_LRU_HASH = 9
BPF_MAP_TYPE_LRU_PERCPU_HASH = 10
BPF_MAP_TYPE_LPM_TRIE = 11
BPF_MAP_TYPE_ARRAY_OF_MAPS = 12
BPF_MAP_TYPE_HASH_OF_MAPS = 13
BPF_MAP_TYPE_PERCPU_CGROUP_STORAGE = 21
BPF_MAP_TYPE_QUEUE = 22
BPF_MAP_TYPE_STACK = 23
BPF_MAP_TYPE_STRUCT_OPS = 26
BPF_MAP_TYPE_RINGBUF = 27
BPF_MAP_TYPE_TASK_STORAGE = 29
BPF_MAP_TYPE_BLOOM_FILTER = 30
BPF_MAP_TYPE_USER_RINGBUF = 31
BPF_MAP_TYPE_CGRP_STORAGE = 32
BPF_MAP_TYPE_ARENA = 33

PERCPU_MAP_TYPES = frozenset((5, 6, 10, 21))
"""Their values hold one slot of 8-byte multiples for each possible CPU."""

# flags of BPF_MAP_UPDATE_ELEM
BPF_ANY = 0
BPF_NOEXIST = 1
BPF_EXIST = 2
BPF_F_LOCK = 4
BPF_F_CPU = 8

# flags of BPF_MAP_CREATE
BPF_F_NO_PREALLOC = 1 << 0
BPF_F_NO_COMMON_LRU = 1 << 1
BPF_F_NUMA_NODE = 1 << 2
BPF_F_RDONLY = 1 << 3
BPF_F_WRONLY = 1 << 4
BPF_F_STACK_BUILD_ID = 1 << 5
BPF_F_ZERO_SEED = 1 << 6
BPF_F_RDONLY_PROG = 1 << 7
BPF_F_WRONLY_PROG = 1 << 8
BPF_F_CLONE = 1 << 9
BPF_F_MMAPABLE = 1 << 10
BPF_F_PRESERVE_ELEMS = 1 << 11
BPF_F_INNER_MAP = 1 << 12
BPF_F_LINK = 1 << 13
BPF_F_TOKEN_FD = 1 << 16
BPF_F_RB_OVERWRITE = 1 << 19

# --- programs
# ----------------------------------------------------------------------------------------------------------

PROG_TYPES: tuple[str, ...] = tuple(
    """
unspec socket_filter kprobe sched_cls sched_act tracepoint xdp perf_event cgroup_skb cgroup_sock lwt_in lwt_out
lwt_xmit sock_ops sk_skb cgroup_device sk_msg raw_tracepoint cgroup_sock_addr lwt_seg6local lirc_mode2 sk_reuseport
flow_dissector cgroup_sysctl raw_tracepoint_writable cgroup_sockopt tracing struct_ops ext lsm sk_lookup syscall
netfilter
""".split()
)
PROG_TYPE_IDS = _numbers(PROG_TYPES)
BPF_PROG_TYPE_SOCKET_FILTER = 1
BPF_PROG_TYPE_KPROBE = 2
BPF_PROG_TYPE_TRACEPOINT = 5
BPF_PROG_TYPE_PERF_EVENT = 7
BPF_PROG_TYPE_RAW_TRACEPOINT = 17
BPF_PROG_TYPE_RAW_TRACEPOINT_WRITABLE = 24
BPF_PROG_TYPE_TRACING = 26
BPF_PROG_TYPE_STRUCT_OPS = 27
BPF_PROG_TYPE_EXT = 28
BPF_PROG_TYPE_LSM = 29
BPF_PROG_TYPE_SYSCALL = 31

ATTACH_TYPES: Mapping[str, int] = {
    "trace_raw_tp": 23,
    "trace_fentry": 24,
    "trace_fexit": 25,
    "modify_return": 26,
    "lsm_mac": 27,
    "trace_iter": 28,
    "perf_event": 41,
    "trace_kprobe_multi": 42,
    "struct_ops": 44,
    "trace_uprobe_multi": 48,
    "trace_kprobe_session": 56,
    "trace_uprobe_session": 57,
    "trace_fsession": 58,
}
"""Those that tracing uses, out of 62."""
BPF_TRACE_RAW_TP = 23
BPF_TRACE_FENTRY = 24
BPF_TRACE_FEXIT = 25
BPF_MODIFY_RETURN = 26
BPF_LSM_MAC = 27
BPF_TRACE_ITER = 28
BPF_PERF_EVENT = 41
BPF_TRACE_KPROBE_MULTI = 42
BPF_TRACE_UPROBE_MULTI = 48
BPF_TRACE_KPROBE_SESSION = 56
BPF_TRACE_UPROBE_SESSION = 57
BPF_TRACE_FSESSION = 58

LINK_TYPES: tuple[str, ...] = tuple(
    """
unspec raw_tracepoint tracing cgroup iter netns xdp perf_event kprobe_multi struct_ops netfilter tcx uprobe_multi
netkit sockmap tracing_multi
""".split()
)

# flags of BPF_PROG_LOAD
BPF_F_STRICT_ALIGNMENT = 1 << 0
BPF_F_TEST_RND_HI32 = 1 << 2
BPF_F_TEST_STATE_FREQ = 1 << 3
BPF_F_SLEEPABLE = 1 << 4

# flags of the multi links
BPF_F_KPROBE_MULTI_RETURN = 1 << 0
BPF_F_UPROBE_MULTI_RETURN = 1 << 0
BPF_F_UPROBE_MULTI_PATH_FD = 1 << 1

BPF_F_TEST_RUN_ON_CPU = 1 << 0
BPF_STATS_RUN_TIME = 0
BPF_OBJ_NAME_LEN = 16

# src_reg of a ld_imm64 and of a call
BPF_PSEUDO_MAP_FD = 1
BPF_PSEUDO_MAP_VALUE = 2
BPF_PSEUDO_BTF_ID = 3
BPF_PSEUDO_FUNC = 4
BPF_PSEUDO_CALL = 1
BPF_PSEUDO_KFUNC_CALL = 2

# --- what helpers are told
# ---------------------------------------------------------------------------------------------

BPF_F_SKIP_FIELD_MASK = 0xFF
BPF_F_USER_STACK = 1 << 8
BPF_F_FAST_STACK_CMP = 1 << 9
BPF_F_REUSE_STACKID = 1 << 10
BPF_F_USER_BUILD_ID = 1 << 11
BPF_F_INDEX_MASK = 0xFFFFFFFF
BPF_F_CURRENT_CPU = 0xFFFFFFFF

BPF_RB_NO_WAKEUP = 1 << 0
BPF_RB_FORCE_WAKEUP = 1 << 1
BPF_RB_AVAIL_DATA = 0
BPF_RB_RING_SIZE = 1
BPF_RB_CONS_POS = 2
BPF_RB_PROD_POS = 3

# header of a record in a BPF ring buffer: u32 length and these two bits, u32 page offset
BPF_RINGBUF_BUSY_BIT = 1 << 31
BPF_RINGBUF_DISCARD_BIT = 1 << 30
BPF_RINGBUF_HDR_SZ = 8
