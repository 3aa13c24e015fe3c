"""bpftrace's published tools: what makes each of them speak, and what it then says.

``Tool.says`` are regular expressions for lines of the output: the headers that the tools' own comments show, and lines
of events that the work causes. ``<PID>`` is the worker's. ``lacks`` gives, by kernel, why a tool cannot run there, in
the words of our own message.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import kernels_tools_work as work
from kernels_run import COMM

TIME = r"\d\d:\d\d:\d\d"
BAR = r" +\d+ \|@* *\|"


@dataclass(frozen=True)
class Tool:
    """``at_end``: it says most when it is stopped."""

    name: str
    says: tuple[str, ...]
    work: Callable[[], object] = lambda: None
    at_end: bool = False
    lacks: Mapping[str, str] = field(default_factory=dict[str, str])


NO_IO_START = {"6.1": "No matches for tracepoint block:block_io_start"}
RENAMED = "does not contain a field named 'nr_queued'"
HISTOGRAM = (rf"\[\d+[KM]?(, \d+[KM]?\)|\]){BAR}",)

TOOLS = (
    Tool("bashreadline.bt", (r"TIME +PID +COMMAND", rf"{TIME} +\d+ +echo typed by hand"), work.type_into_bash),
    Tool("biolatency-kp.bt", (r"Tracing block device I/O... Hit Ctrl-C to end.",), work.read_disk, at_end=True),
    Tool("biolatency.bt", (r"Tracing block device I/O.*", r"@usecs:", *HISTOGRAM), work.read_disk, at_end=True),
    Tool(
        "biosnoop.bt",
        (r"TIME\(ms\) +DISK ID +COMM +PID +LAT\(ms\)", rf"\d+ +\d+ +0 +{COMM} +<PID> +\d+"),
        work.read_disk,
        lacks=NO_IO_START,
    ),
    Tool(
        "biostacks.bt",
        (r"Tracing block I/O with init stacks.*", r"@usecs\[", r"blk_\w+\+\d+", *HISTOGRAM),
        work.read_disk,
        at_end=True,
        lacks=NO_IO_START,
    ),
    Tool(
        "bitesize.bt",
        (r"I/O size \(bytes\) histograms by process name:", rf"@\[{COMM}\]:", rf"\[4K, 8K\){BAR}"),
        work.read_disk,
        at_end=True,
    ),
    Tool(
        "capable.bt",
        (r"TIME +UID +PID +COMM +CAP +NAME +AUDIT", rf"{TIME} +0 +<PID> +{COMM} +23 +CAP_SYS_NICE +\d"),
        lambda: os.setpriority(os.PRIO_PROCESS, 0, -1),
    ),
    Tool("cpuwalk.bt", (r"Sampling CPU at 99hz... .*", r"@cpu:", rf"\[[01]\]{BAR}"), work.spin, at_end=True),
    Tool(
        "dcsnoop.bt",
        (
            r"TIME +PID +COMM +T FILE",
            rf"\d+ +<PID> +{COMM} +R etc/no-such-name",
            rf"\d+ +<PID> +{COMM} +M no-such-name",
        ),
        work.look_up,
    ),
    Tool(
        "execsnoop.bt",
        (r"TIME +PID +PPID +ARGS", rf"{TIME}\.\d{{6}} \d+ +<PID> +/bin/true one two words"),
        work.run_a_program,
    ),
    Tool("gethostlatency.bt", (r"TIME +PID +COMM +LATms HOST", rf"{TIME} +<PID> +{COMM} +\d+ localhost"), work.resolve),
    Tool(
        "killsnoop.bt",
        (
            r"TIME +PID COMM +SIG +TPID RESULT",
            rf"{TIME}\.\d{{6}} +<PID> {COMM} +SIGCHLD +<PID> +0",
            rf"{TIME}\.\d{{6}} +<PID> {COMM} +SIGTERM +4000000 +-3",
        ),
        work.send_signals,
    ),
    Tool("loads.bt", (r"Reading load averages.*", rf"{TIME} load averages: \d+\.\d{{3}} \d+\.\d{{3}} \d+\.\d{{3}}")),
    Tool("mdflush.bt", (r"TIME +PID +COMM +DEVICE", rf"{TIME} +<PID> +{COMM} +md_test"), work.flush_raid),
    Tool(
        "naptime.bt",
        (r"TIME +PPID +PCOMM +PID +COMM +SECONDS", rf"{TIME} +\d+ +\S+ +<PID> +{COMM} +0\.030"),
        work.nap,
    ),
    Tool(
        "oomkill.bt",
        (
            r"Tracing oom_kill_process.*",
            rf'{TIME} Triggered by PID \d+ \(".+"\), OOM kill of PID \d+ \("victim"\), \d+ pages, loadavg: [\d./ ]+',
        ),
        work.out_of_memory,
    ),
    Tool(
        "opensnoop.bt",
        (r"PID +COMM +FD +ERR PATH", rf"<PID> +{COMM} +-1 +2 /no/such/file", rf"<PID> +{COMM} +\d+ +0 /etc/passwd"),
        work.open_files,
    ),
    Tool("pidpersec.bt", (r"Tracing new processes.*", rf"{TIME} PIDs/sec: @: \d+"), work.fork_a_few),
    Tool("runqlat.bt", (r"Tracing CPU scheduler.*", r"@usecs:", *HISTOGRAM), work.spin, at_end=True),
    Tool("runqlen.bt", (), lacks=dict.fromkeys(("6.1", "6.12"), RENAMED)),
    Tool(
        "setuids.bt",
        (
            r"TIME +PID +COMM +UID +SYSCALL +ARGS \(RET\)",
            rf"{TIME} <PID> +{COMM} +0 +setresuid ruid=-1 euid=1234 suid=-1 \(0\)",
            rf"{TIME} <PID> +{COMM} +0 +setfsuid  uid=0 \(prevuid=0\)",
            rf"{TIME} <PID> +{COMM} +0 +setuid    uid=0 \(0\)",
        ),
        work.change_users,
    ),
    Tool(
        "ssllatency.bt", (r"Tracing SSL/TLS handshake.*", r"@histF?\[SSL_do_handshake\]:"), work.handshake, at_end=True
    ),
    Tool(
        "sslsnoop.bt",
        (r"TIME\(us\) +TID +COMM +LAT\(us\) +RET +FUNC", rf"\d+ +<PID> +{COMM} +\d+ +-1 SSL_do_handshake"),
        work.handshake,
    ),
    Tool(
        "statsnoop.bt",
        (
            r"PID +COMM +ERR PATH",
            rf"<PID> +{COMM} +2 /no/such/file",
            rf"<PID> +{COMM} +0 /etc/passwd",
            rf"<PID> +{COMM} +0 /",
        ),
        work.stat_files,
    ),
    Tool("swapin.bt", (TIME, rf"@\[{COMM}, <PID>\]: \d+"), work.swap_in),
    Tool(
        "syncsnoop.bt",
        (r"TIME +PID +COMM +EVENT", rf"{TIME} +<PID> +{COMM} +tracepoint:syscalls:sys_enter_sync"),
        os.sync,
    ),
    Tool(
        "syscount.bt",
        (r"Top 10 syscalls IDs:", r"@syscall\[110\]: 5\d\d", r"Top 10 processes:", rf"@process\[{COMM}\]: \d+"),
        work.make_calls,
        at_end=True,
    ),
    Tool(
        "tcpaccept.bt",
        (
            r"TIME +PID +COMM +RADDR +RPORT +LADDR +LPORT +BL",
            rf"{TIME} <PID> +{COMM} +127.0.0.1 +\d+ +127.0.0.1 +8765 +\d+/\d+",
        ),
        work.connect,
    ),
    Tool(
        "tcpconnect.bt",
        (r"TIME +PID +COMM +SADDR +SPORT +DADDR +DPORT", rf"{TIME} <PID> +{COMM} +127.0.0.1 +\d+ +127.0.0.1 +8765"),
        work.connect,
    ),
    # what it looks at are drops of packets that still belong to a socket: none can be caused here without a filter
    Tool("tcpdrop.bt", (r"TIME +PID +COMM +SADDR:SPORT +DADDR:DPORT +STATE",), work.connect),
    Tool(
        "tcplife.bt",
        (
            r"PID +COMM +LADDR +LPORT +RADDR +RPORT +TX_KB +RX_KB +MS",
            r"\d+ +\S+ +127.0.0.1 +\d+ +127.0.0.1 +8765 +4 +0 +\d+",
        ),
        work.connect,
    ),
    Tool(
        "tcpretrans.bt",
        (r"TIME +PID +LADDR:LPORT +RADDR:RPORT +STATE", rf"{TIME} \d+ +127.0.0.1:\d+ +127.0.0.1:8766 +SYN_SENT"),
        work.overflow,
    ),
    Tool(
        "tcpsynbl.bt",
        (r"@backlog\[backlog limit\]: histogram of backlog size", r"@backlog\[\d+\]:", rf"\[0\]{BAR}"),
        work.connect,
        at_end=True,
    ),
    Tool("threadsnoop.bt", (r"TIME +PID +COMM +FUNC", rf"{TIME}\.\d{{6}} +<PID> +{COMM} +\S+"), work.start_thread),
    Tool(
        "undump.bt",
        (r"TIME +COMM +PID +SIZE +DATA", rf"{TIME} {COMM} +<PID> +13 +Hello, world\\x0a"),
        work.talk,
    ),
    Tool(
        "vfscount.bt",
        (r"Tracing VFS calls.*", r"@\[vfs_read\]: \d+", r"@\[vfs_open\]: \d+"),
        work.use_files,
        at_end=True,
    ),
    Tool(
        "vfsstat.bt", (r"Tracing key VFS calls.*", TIME, r"@\[vfs_read\]: \d+", r"@\[vfs_open\]: \d+"), work.use_files
    ),
    Tool(
        "writeback.bt",
        (r"TIME +DEVICE +PAGES +REASON +ms", rf"{TIME} +\S+ +\d+ +sync +\d+\.\d{{3}}"),
        work.write_back,
    ),
    Tool("xfsdist.bt", (r"Tracing XFS operation latency.*",), at_end=True),
)

INLINED = "No matches for kprobe __blk_account_io_start"
OLD = (
    Tool("old/biosnoop-pre-5.17.bt", (), lacks=dict.fromkeys(("6.1", "6.12"), INLINED)),
    Tool("old/biosnoop-pre-6.4.bt", (), lacks=dict.fromkeys(("6.1", "6.12"), INLINED)),
    Tool("old/biostacks.bt", (r"Tracing block I/O with init stacks.*",), work.read_disk, at_end=True),
    Tool("old/mdflush.bt", (), lacks=dict.fromkeys(("6.1", "6.12"), "does not contain a field named 'bi_disk'")),
    Tool("old/runqlen.bt", (r"Sampling run queue length.*", r"@runqlen:", rf"\[\d+\]{BAR}"), work.spin, at_end=True),
    Tool("old/tcpdrop.bt", (), lacks=dict.fromkeys(("6.1", "6.12"), "No matches for kprobe tcp_drop")),
)
