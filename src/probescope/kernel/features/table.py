"""Features as data: what each is for, how to get it, and the kernel that brought it.

``since`` is for the reader; nothing asks it. Where no commit is named, the version is that of the first release with
it.
"""

from __future__ import annotations

from probescope.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Feature:
    """``get``: what to change where it is missing (build options, settings, privileges). ``since``: version "commit
    subject"."""

    name: str
    purpose: str
    get: str = ""
    since: str = ""

    @property
    def kind(self) -> str:
        return self.name.partition(":")[0]


# name | purpose | how to get it | since; a line that begins with blanks goes on with the one before
_ROWS = """
prog:kprobe|programs on kprobes, uprobes and USDT|CONFIG_BPF_EVENTS|
  4.1 "tracing, perf: Implement BPF programs attached to kprobes"
prog:kprobe_sleepable|uprobe programs that may fault user memory in|CONFIG_BPF_EVENTS, CONFIG_UPROBES|
  6.0 "bpf: implement sleepable uprobes by chaining gps"
prog:tracepoint|programs on tracepoints, with the event's record|CONFIG_BPF_EVENTS|
  4.7 "bpf: register BPF_PROG_TYPE_TRACEPOINT program type"
prog:raw_tracepoint|programs on tracepoints, with the bare arguments|CONFIG_BPF_EVENTS|
  4.17 "bpf: introduce BPF_RAW_TRACEPOINT"
prog:perf_event|programs on clocks, counters and breakpoints|CONFIG_BPF_EVENTS|
  4.9 "bpf: introduce BPF_PROG_TYPE_PERF_EVENT program type"
prog:tracing|programs that know the kernel's types|CONFIG_DEBUG_INFO_BTF|
  5.5 "bpf: Implement accurate raw_tp context access via BTF"
prog:iter|programs that walk over kernel objects|CONFIG_DEBUG_INFO_BTF|5.8 "bpf: Allow loading of a bpf_iter program"
prog:lsm|programs on security hooks|CONFIG_BPF_LSM and "bpf" in lsm=|5.7 "bpf: Introduce BPF_PROG_TYPE_LSM"
prog:syscall|programs that run once on request|CONFIG_BPF_SYSCALL|
  5.14 "bpf: Introduce bpf_sys_bpf() helper and program type."
prog:socket_filter|programs for test runs with timing|CONFIG_NET|
  3.19 "bpf: allow eBPF programs to be attached to sockets"
run:raw_tracepoint|running a raw tracepoint program on request||5.10 "bpf: Enable BPF_PROG_TEST_RUN for raw_tracepoint"
run:syscall|running a syscall program on request||5.14 "bpf: Introduce bpf_sys_bpf() helper and program type."
run:socket_filter|timing a socket filter over many runs|CONFIG_NET|4.12 "bpf: introduce BPF_PROG_TEST_RUN command"
run:kprobe|running a kprobe program on request|no kernel offers it: use run:raw_tracepoint|
attach:raw_tracepoint|the cheapest way onto a tracepoint without BTF|CONFIG_BPF_EVENTS|
  4.17 "bpf: introduce BPF_RAW_TRACEPOINT"
attach:raw_tracepoint_cookie|one program for many raw tracepoints|a newer kernel|
  6.10 "bpf: support BPF cookie in raw_tracepoint (raw_tp, tp_btf) programs"
attach:tracepoint|tracepoints through perf events|CONFIG_EVENT_TRACING, CONFIG_PERF_EVENTS|
  4.7 "perf, bpf: allow bpf programs attach to tracepoints"
attach:perf_event|programs on clocks, counters and breakpoints|CONFIG_PERF_EVENTS, CONFIG_BPF_EVENTS|
  4.9 "perf, bpf: add perf events core support for BPF_PROG_TYPE_PERF_EVENT programs"
attach:perf_link|links and cookies for perf events, kprobes, uprobes|a newer kernel|
  5.15 "bpf: Implement minimal BPF perf link"
attach:tp_btf|tracepoints with typed arguments|CONFIG_DEBUG_INFO_BTF|
  5.5 "bpf: Implement accurate raw_tp context access via BTF"
attach:fentry|kernel functions through trampolines, with typed arguments|
  CONFIG_FUNCTION_TRACER, CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS, CONFIG_DEBUG_INFO_BTF|
  5.5 "bpf: Introduce BPF trampoline"
attach:fexit|returns of kernel functions, with arguments and result|as attach:fentry|5.5 "bpf: Introduce BPF trampoline"
attach:fsession|entry and return of a kernel function in one program|a newer kernel, and what attach:fentry needs|
attach:modify_return|changing what chosen kernel functions return|as attach:fentry|
  5.7 "bpf: Introduce BPF_MODIFY_RETURN"
attach:lsm|security hooks|CONFIG_BPF_LSM and "bpf" in lsm=|5.7 "bpf: Introduce BPF_PROG_TYPE_LSM"
attach:kprobe|any instruction of the kernel, tied to a descriptor|
  CONFIG_KPROBES, CONFIG_KPROBE_EVENTS, CONFIG_PERF_EVENTS|
  4.17 "perf/core: Implement the 'perf_kprobe' PMU"
attach:kprobe_multi|thousands of kernel functions at once|CONFIG_FPROBE (CONFIG_FUNCTION_TRACER), CONFIG_KPROBES|
  5.18 "bpf: Add multi kprobe link"
attach:kprobe_session|entry and return of kernel functions in one program|
  a newer kernel, and what attach:kprobe_multi needs|
  6.10 "bpf: Add support for kprobe session attach"
attach:uprobe|instructions of programs and libraries|CONFIG_UPROBES, CONFIG_UPROBE_EVENTS, CONFIG_PERF_EVENTS|
  4.17 "perf/core: Implement the 'perf_uprobe' PMU"
attach:uprobe_ref_ctr|USDT probes with semaphores|CONFIG_UPROBE_EVENTS|
  4.20 "Uprobes: Support SDT markers having reference count (semaphore)"
attach:uprobe_multi|many places of one program at once|CONFIG_UPROBES and a newer kernel|
  6.6 "bpf: Add multi uprobe link"
attach:uprobe_multi_pid|the same in one process, with all its threads|a newer kernel|
  6.10 "bpf: fix multi-uprobe PID filtering logic"
attach:uprobe_session|entry and return of a program's functions in one program|a newer kernel|
  6.13 "bpf: Add support for uprobe multi session attach"
attach:iter|walks over kernel objects|CONFIG_DEBUG_INFO_BTF|5.8 "bpf: Create anonymous bpf iterator"
map:hash|tables by key||3.19 "bpf: add hashtable type of eBPF maps"
map:array|tables by number||3.19 "bpf: add array type of eBPF maps"
map:percpu_hash|counting without contention||4.6 "bpf: introduce BPF_MAP_TYPE_PERCPU_HASH map"
map:percpu_array|counting without contention||4.6 "bpf: introduce BPF_MAP_TYPE_PERCPU_ARRAY map"
map:lru_hash|tables that forget the oldest when full||4.10 "bpf: Add BPF_MAP_TYPE_LRU_HASH"
map:lru_percpu_hash|the same for each CPU||4.10 "bpf: Add BPF_MAP_TYPE_LRU_PERCPU_HASH"
map:stack_trace|stacks by number|CONFIG_PERF_EVENTS|4.6 "bpf: introduce BPF_MAP_TYPE_STACK_TRACE"
map:stack_build_id|user stacks as build-id and offset||
  4.17 "bpf: extend stackmap to save binary_build_id+offset instead of address"
map:perf_event_array|events to user space where there is no ring buffer|CONFIG_PERF_EVENTS|
  4.3 "bpf: Add new bpf map type to store the pointer to struct perf_event"
map:prog_array|tail calls||4.2 "bpf: allow bpf programs to tail-call other bpf programs"
map:lpm_trie|tables by address prefix||4.11 "bpf: add a longest prefix match trie map implementation"
map:array_of_maps|maps that can be exchanged at once||4.12 "bpf: Add array of maps support"
map:hash_of_maps|maps that can be exchanged at once||4.12 "bpf: Add hash of maps support"
map:queue|first in, first out||4.20 "bpf: add queue and stack maps"
map:stack|last in, first out||4.20 "bpf: add queue and stack maps"
map:ringbuf|events to user space, in order, without a copy|a newer kernel|
  5.8 "bpf: Implement BPF ring buffer and verifier support for it"
map:ringbuf_overwrite|a ring that keeps the newest events|a newer kernel|
  6.19 "bpf: Add overwrite mode for BPF ring buffer"
map:user_ringbuf|data into programs|a newer kernel|6.1 "bpf: Define new BPF_MAP_TYPE_USER_RINGBUF map type"
map:bloom_filter|membership in little memory|a newer kernel|5.16 "bpf: Add bloom filter map implementation"
map:task_storage|values tied to a thread, gone with it|a newer kernel|5.11 "bpf: Implement task local storage"
map:cgrp_storage|values tied to a control group|CONFIG_CGROUPS|
  6.2 "bpf: Implement cgroup storage available to non-cgroup-attached bpf progs"
map:arena|memory shared with user space|a 64-bit machine with a JIT, and a newer kernel|6.9 "bpf: Introduce bpf_arena."
map:mmap|reading an array without system calls||5.5 "bpf: Add mmap() support for BPF_MAP_TYPE_ARRAY"
map:readonly|constants that the verifier sees||5.2 "bpf: add program side {rd, wr}only support for maps"
map:batch|reading a table in one call||5.6 "bpf: Add batch ops to all htab bpf map"
map:percpu_batch|the same for per-CPU tables||5.6 "bpf: Add batch ops to all htab bpf map"
map:lookup_and_delete|taking a value out in one step||5.14 "bpf: Add lookup_and_delete_elem support to hashtab"
map:percpu_one_cpu|one CPU's value alone|a newer kernel|6.19
helper:probe_read_kernel|reading kernel memory||
  5.5 "bpf: Add probe_read_{user, kernel} and probe_read_{user, kernel}_str helpers"
helper:probe_read_kernel_str|reading kernel strings||
  5.5 "bpf: Add probe_read_{user, kernel} and probe_read_{user, kernel}_str helpers"
helper:probe_read_user|reading user memory||
  5.5 "bpf: Add probe_read_{user, kernel} and probe_read_{user, kernel}_str helpers"
helper:probe_read_user_str|reading user strings||
  5.5 "bpf: Add probe_read_{user, kernel} and probe_read_{user, kernel}_str helpers"
helper:copy_from_user|reading user memory that has to be paged in|sleepable programs|
  5.10 "bpf: Add bpf_copy_from_user() helper."
helper:get_current_task_btf|the current task, typed||5.11
helper:get_attach_cookie|which probe has fired||
  5.15 "bpf: Add bpf_get_attach_cookie() BPF helper to access bpf_cookie value"
helper:get_attach_cookie@raw_tracepoint|which raw tracepoint has fired|a newer kernel|
  6.10 "bpf: support BPF cookie in raw_tracepoint (raw_tp, tp_btf) programs"
helper:get_func_ip|which function has fired||5.15 "bpf: Add bpf_get_func_ip helper for tracing programs"
helper:get_func_arg|an argument by number|what attach:fentry needs|5.17 "bpf: Add get_func_[arg|ret|arg_cnt] helpers"
helper:ringbuf_output|events to user space||5.8 "bpf: Implement BPF ring buffer and verifier support for it"
helper:ringbuf_reserve|events to user space without a copy||
  5.8 "bpf: Implement BPF ring buffer and verifier support for it"
helper:perf_event_output|events to user space where there is no ring buffer||
  4.4 "bpf: introduce bpf_perf_event_output() helper"
helper:get_stackid|stacks by number||4.6 "bpf: introduce BPF_MAP_TYPE_STACK_TRACE"
helper:get_stack|stacks by value||4.18 "bpf: add bpf_get_stack helper"
helper:get_task_stack|stacks of other tasks||5.9 "bpf: Introduce helper bpf_get_task_stack()"
helper:loop|loops of any length||5.17 "bpf: Add bpf_loop helper"
helper:for_each_map_elem|walking over a map||5.13 "bpf: Add bpf_for_each_map_elem() helper"
helper:strncmp|comparing strings||5.17 "bpf: Add bpf_strncmp helper"
helper:snprintf|formatting in the kernel||5.13 "bpf: Add a bpf_snprintf helper"
helper:ktime_get_ns|time since boot, without suspend||4.1 "bpf: allow bpf programs to call bpf_ktime_get_ns() helper"
helper:ktime_get_boot_ns|time since boot, with suspend||5.8 "bpf: add bpf_ktime_get_boot_ns()"
helper:ktime_get_tai_ns|atomic time||6.1 "bpf: Add BPF-helper for accessing CLOCK_TAI"
helper:jiffies64|timer ticks||5.6 "bpf: Add BPF_FUNC_jiffies64"
helper:get_current_cgroup_id|control group of the current task|CONFIG_CGROUPS|
  4.18 "bpf: introduce bpf_get_current_cgroup_id() helper"
helper:get_current_ancestor_cgroup_id|control groups above it|CONFIG_CGROUPS|5.7
helper:get_ns_current_pid_tgid|pids as a container sees them||5.7 "bpf: Added new helper bpf_get_ns_current_pid_tgid"
helper:send_signal|signal()||5.3 "bpf: implement bpf_send_signal() helper"
helper:send_signal_thread|signal_thread()||5.6 "bpf: Add bpf_send_signal_thread() helper"
helper:override_return|override()|CONFIG_BPF_KPROBE_OVERRIDE|4.16 "bpf: add a bpf_override_function helper"
helper:probe_write_user|write_user()|no lockdown; CAP_SYS_ADMIN|
  4.8 "bpf: Add bpf_probe_write_user BPF helper to be called in tracers"
helper:trace_printk|debugf()|CONFIG_BPF_EVENTS|4.1 "bpf: allow bpf programs to call bpf_trace_printk() helper"
helper:trace_vprintk|debugf() with more arguments|CONFIG_BPF_EVENTS|5.16 "bpf: Add bpf_trace_vprintk helper"
helper:d_path|path() on chosen hooks|CONFIG_DEBUG_INFO_BTF|5.10 "bpf: Add d_path helper"
helper:read_branch_records|branch stacks|hardware with LBR|5.6 "bpf: Add bpf_read_branch_records() helper"
helper:perf_event_read_value|counters inside programs||
  4.15 "bpf: add helper bpf_perf_event_read_value for perf event array map"
helper:skb_output|packets to user space|CONFIG_NET|5.5
helper:seq_write|output of iterators||5.8 "bpf: Add bpf_seq_printf and bpf_seq_write helpers"
helper:task_storage_get|values tied to a thread||5.11 "bpf: Implement task local storage"
helper:cgrp_storage_get|values tied to a control group||
  6.2 "bpf: Implement cgroup storage available to non-cgroup-attached bpf progs"
helper:map_lookup_percpu_elem|another CPU's value||5.19 "bpf: add bpf_map_lookup_percpu_elem for percpu map"
kfunc:bpf_rcu_read_lock|reading RCU-protected fields directly||6.2 "bpf: Add kfunc bpf_rcu_read_lock/unlock()"
kfunc:bpf_task_from_pid|a task by its pid||6.2 "bpf: Add bpf_task_from_pid() kfunc"
kfunc:bpf_iter_num_new|open-coded loops||6.4 "bpf: add support for open-coded iterator loops"
kfunc:bpf_iter_task_new|open-coded walks over tasks||6.7 "bpf: Introduce task open coded iterator kfuncs"
kfunc:bpf_strlen|string functions||6.17 "bpf: Add kfuncs for read-only string operations"
kfunc:bpf_strstr|string functions||6.17 "bpf: Add kfuncs for read-only string operations"
kfunc:bpf_copy_from_user_str|user strings that have to be paged in|sleepable programs|
  6.12 "bpf: Add bpf_copy_from_user_str kfunc"
kfunc:bpf_path_d_path|path() on any hook of the security module|CONFIG_BPF_LSM|6.12 "bpf: add new BPF LSM kfuncs"
kfunc:bpf_cast_to_kern_ctx|the context as the kernel's type||6.2 "bpf: Add kfunc bpf_cast_to_kern_ctx()"
kfunc:bpf_rdonly_cast|kernel memory as a type||6.2 "bpf: Add kfunc bpf_rdonly_cast()"
kfunc:bpf_send_signal_task|signals to other tasks||6.13 "bpf: implement bpf_send_signal_task() kfunc"
kfunc:bpf_session_is_return|telling entry from return in sessions||6.10 "bpf: Add support for kprobe session context"
kfunc:bpf_session_cookie|carrying a value from entry to return||6.10 "bpf: Add support for kprobe session cookie"
kfunc:bpf_stream_vprintk|messages of a program by descriptor||6.17 "bpf: Introduce BPF standard streams"
kfunc:bpf_arena_alloc_pages|memory shared with user space||6.9 "bpf: Introduce bpf_arena."
kfunc:bpf_throw|ending a program at once||6.7 "bpf: Implement BPF exceptions"
kfunc:bpf_local_irq_save|critical sections||6.14 "bpf: Introduce support for bpf_local_irq_{save,restore}"
kfunc:bpf_get_kmem_cache|slab caches by address||6.13 "bpf: Add kmem_cache iterator"
isa:v2|unsigned and signed less-than jumps||4.14 "bpf: add BPF_J{LT,LE,SLT,SLE} instructions"
isa:v3|32-bit arithmetic and jumps||5.1 "bpf: verifier support JMP32"
isa:v4|sign extension, signed division, byte swap, long jumps|a newer kernel|
  6.6 "bpf: Support new sign-extension load insns"
isa:movsx|sign-extending moves|a newer kernel|6.6 "bpf: Support new sign-extension mov insns"
isa:ldsx|sign-extending loads|a newer kernel|6.6 "bpf: Support new sign-extension load insns"
isa:sdiv|signed division|a newer kernel|6.6 "bpf: Support new signed div/mod instructions."
isa:bswap|unconditional byte swap|a newer kernel|6.6 "bpf: Support new unconditional bswap instruction"
isa:gotol|jumps beyond 32,767 instructions|a newer kernel|6.6 "bpf: Support new 32bit offset jmp instruction"
isa:atomic_fetch|atomic operations that return the old value||
  5.12 "bpf: Add BPF_FETCH field / create atomic_fetch_add instruction"
isa:cmpxchg|compare and exchange||5.12 "bpf: Add instructions for atomic_[cmp]xchg"
isa:may_goto|loops that the kernel ends|a newer kernel|6.9 "bpf: Introduce may_goto instruction"
isa:load_acquire|ordered loads|a newer kernel|6.15 "bpf: Introduce load-acquire and store-release instructions"
isa:bounded_loop|loops whose end the verifier finds||5.3 "bpf: introduce bounded loops"
isa:large_program|more than 4,096 instructions|CAP_BPF|5.2 "bpf: increase complexity limit and maximum program size"
isa:subprograms|functions inside programs||4.16 "bpf: introduce function calls (function boundaries)"
isa:callbacks|functions passed to helpers||5.13 "bpf: Add bpf_for_each_map_elem() helper"
isa:map_value|global variables||5.2 "bpf: implement lookup-free direct value access for maps"
isa:ksym|kernel variables by BTF id|CONFIG_DEBUG_INFO_BTF, CONFIG_KALLSYMS_ALL|5.10 "bpf: Introduce pseudo_btf_id"
perf:software|counting faults, switches, migrations|CONFIG_PERF_EVENTS|2.6.31
perf:cpu_clock|sampling by time|CONFIG_PERF_EVENTS|2.6.31
perf:hardware|cycles, instructions and other counters|a machine, or a hypervisor, with a PMU (in a VM: -cpu host)|2.6.31
perf:cache|cache misses|a machine, or a hypervisor, with a PMU|2.6.31
perf:breakpoint|watchpoints on memory|CONFIG_HAVE_HW_BREAKPOINT|2.6.33
perf:callchain|stacks with samples||2.6.31
perf:branch_stack|the last branches taken|hardware with LBR, outside of most VMs|3.4
perf:regs_user|user registers with samples|CONFIG_HAVE_PERF_REGS|3.7
perf:stack_user|user stacks for unwinding by DWARF|CONFIG_HAVE_PERF_USER_STACK_DUMP|3.7
perf:cgroup_sample|control group with samples|CONFIG_CGROUP_PERF|5.7 "perf/core: Add PERF_SAMPLE_CGROUP feature"
perf:clockid|samples on a chosen clock||4.1
perf:write_backward|rings that keep the newest samples||4.7 "perf/core: Add ::write_backward attribute to perf event"
perf:build_id|build-ids of mapped files||5.12 "perf: Add build id data in mmap2 event"
perf:context_switch|records of context switches||4.3 "perf: Add PERF_RECORD_SWITCH to indicate context switches"
perf:ksymbol|records of new kernel symbols||5.1 "perf, bpf: Introduce PERF_RECORD_KSYMBOL"
perf:bpf_event|records of programs being loaded|CONFIG_BPF_SYSCALL|5.1 "perf, bpf: Introduce PERF_RECORD_BPF_EVENT"
perf:format_lost|lost samples of each event|a newer kernel|6.0
perf:sigtrap|a signal at the very instruction|a newer kernel|5.13 "perf: Add support for SIGTRAP on perf events"
perf:intel_pt|every branch of a program|an Intel machine with Processor Trace|4.1
perf:msr|time stamp counter as an event|CONFIG_PERF_EVENTS_MSR|4.3
ftrace:tracefs|the files of ftrace|CONFIG_TRACING; mount -t tracefs nodev /sys/kernel/tracing|4.1
ftrace:instances|private buffers, leaving other tracers alone|CONFIG_TRACING|3.10
ftrace:function|which kernel functions run|CONFIG_FUNCTION_TRACER, CONFIG_DYNAMIC_FTRACE|2.6.27
ftrace:function_graph|how kernel functions call each other|CONFIG_FUNCTION_GRAPH_TRACER|2.6.29
ftrace:switch|switching the function tracer on, which trace-cmd insists on|a kernel that allows it to root|2.6.27
ftrace:filter_functions|the list of functions that can be traced|CONFIG_DYNAMIC_FTRACE|2.6.27
ftrace:blk|block requests|CONFIG_BLK_DEV_IO_TRACE|2.6.29
ftrace:hwlat|latencies that the hardware causes|CONFIG_HWLAT_TRACER|4.9
ftrace:osnoise|interference by the kernel|CONFIG_OSNOISE_TRACER|5.14
ftrace:timerlat|timer latencies|CONFIG_TIMERLAT_TRACER|5.14
ftrace:wakeup|scheduling latencies|CONFIG_SCHED_TRACER|2.6.27
ftrace:irqsoff|the longest time with interrupts off|CONFIG_IRQSOFF_TRACER|2.6.27
ftrace:kprobe_events|kprobes as events|CONFIG_KPROBE_EVENTS|2.6.33
ftrace:uprobe_events|uprobes as events|CONFIG_UPROBE_EVENTS|3.5
ftrace:dynamic_events|every kind of dynamic event in one file|CONFIG_DYNAMIC_EVENTS|5.0
ftrace:synthetic_events|events made of pairs of events|CONFIG_SYNTH_EVENTS|4.17
ftrace:user_events|events that programs define|CONFIG_USER_EVENTS|5.18
ftrace:hist|counting in the kernel without BPF|CONFIG_HIST_TRIGGERS|4.7
ftrace:stacktrace_trigger|stacks at events|CONFIG_STACKTRACE|3.14
ftrace:snapshot|keeping a buffer at a moment|CONFIG_TRACER_SNAPSHOT|3.9
ftrace:error_log|what was wrong with a probe or filter||5.2
ftrace:trace_marker|marks from user space||2.6.29
kernel:btf|the kernel's types|CONFIG_DEBUG_INFO_BTF|5.4
kernel:module_btf|the types of modules|CONFIG_DEBUG_INFO_BTF_MODULES|5.11
kernel:btf_load|types of our own: callbacks, function names||4.18
kernel:kallsyms|names of kernel addresses|CONFIG_KALLSYMS; sysctl kernel.kptr_restrict=0 or CAP_SYSLOG|2.5.71
kernel:config|the options that the kernel was built with|CONFIG_IKCONFIG_PROC|2.6
kernel:object_ids|listing programs and maps|CAP_SYS_ADMIN|4.13
kernel:bpf_stats|run time of programs|CAP_SYS_ADMIN|5.8 "bpf: Sharing bpf runtime stats with BPF_ENABLE_STATS"
kernel:bpffs|names for maps and programs|CONFIG_BPF_SYSCALL|4.4
"""


def _row(line: str) -> Feature:
    # one commit subject has bars of its own
    return Feature(*line.split("|", 3))


FEATURES: tuple[Feature, ...] = tuple(_row(line) for line in _ROWS.replace("\n  ", "").strip().split("\n"))
