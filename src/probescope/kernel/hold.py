"""Holding a program between its exec and its first instruction: its loader has run then, and all libraries that it was
linked with are mapped.

    seize, let it exec -> breakpoint at AT_ENTRY -> go on -> it stops there -> look -> instruction put back -> detach

Only the thread that seized a process may ask anything of it, and the kernel lets it go if that thread ends: all is done
in one call. x86-64 only; elsewhere, and where ptrace is refused, the program just runs.

Source: ptrace(2); include/uapi/linux/ptrace.h; struct user_regs_struct of arch/x86/include/uapi/asm/ptrace.h.
"""

from __future__ import annotations

import os
import signal
import struct
import time
from collections.abc import Callable

from probescope.errors import LimitError
from probescope.kernel.host import host
from probescope.kernel.syscalls import number

PATIENCE_S = 2.0
"""That a loader has. A program that takes longer (a slow network file system) runs on without having been held."""
_LOOK_S = 0.0005
_CONT, _GETREGS, _SETREGS, _DETACH = 7, 12, 13, 17
_SEIZE, _INTERRUPT = 0x4206, 0x4207
_O_TRACEEXEC, _EVENT_EXEC = 1 << 4, 4
_REGS, _RIP = 27 * 8, 16 * 8
_AT_ENTRY = 9
_INT3 = b"\xcc"


class _Ended(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def run_to_entry(pid: int, let_exec: Callable[[], None], look: Callable[[], None]) -> int | None:
    """Calls ``let_exec``, after which the child ``pid`` calls exec, then ``look`` while the new program is about to
    begin (or not at all, where it cannot be held). Gives the status of a child that ended on the way, as waitpid does.
    """
    if host().machine != "x86_64":
        let_exec()
        return None
    try:
        _ptrace(_SEIZE, pid, 0, _O_TRACEEXEC)
    except (OSError, LimitError):
        let_exec()
        return None
    try:
        let_exec()
        until = time.monotonic() + PATIENCE_S
        if _until(pid, until, lambda status: status >> 8 == signal.SIGTRAP | _EVENT_EXEC << 8):
            _hold(pid, until, look)
        _ptrace(_DETACH, pid, 0, 0)
    except _Ended as e:
        return e.status
    except OSError:
        _release(pid)
    except BaseException:
        _release(pid)
        raise
    return None


def _hold(pid: int, until: float, look: Callable[[], None]) -> None:
    entry = _entry(pid)
    memory = os.open(f"/proc/{pid}/mem", os.O_RDWR | os.O_CLOEXEC)
    try:
        before = os.pread(memory, 1, entry)
        if before == _INT3:  # somebody's probe
            return
        os.pwrite(memory, _INT3, entry)
        _ptrace(_CONT, pid, 0, 0)
        there = _until(pid, until, lambda status: os.WSTOPSIG(status) == signal.SIGTRAP)
        os.pwrite(memory, before, entry)
        if not there:
            return
        regs = bytearray(_REGS)
        _ptrace(_GETREGS, pid, 0, host().address(regs))
        if struct.unpack_from("=Q", regs, _RIP)[0] == entry + 1:
            struct.pack_into("=Q", regs, _RIP, entry)
            _ptrace(_SETREGS, pid, 0, host().address(regs))
            look()
    finally:
        os.close(memory)


def _until(pid: int, until: float, wanted: Callable[[int], bool]) -> bool:
    """Waits for a stop that is ``wanted``; signals that come before it are passed on. False, and the process stopped
    all the same, when our patience is over. Raises _Ended."""
    asked = False
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if not found:
            if time.monotonic() > until and not asked:
                _ptrace(_INTERRUPT, pid, 0, 0)
                asked = True
            time.sleep(_LOOK_S)
            continue
        if not os.WIFSTOPPED(status):
            raise _Ended(status)
        if wanted(status):
            return True
        if asked:
            return False
        event = status >> 16
        _ptrace(_CONT, pid, 0, 0 if event else os.WSTOPSIG(status))


def _entry(pid: int) -> int:
    """Where the program itself begins, from the auxiliary vector: pairs of u64 (kind, value)."""
    data = host().read_bytes(f"/proc/{pid}/auxv", 4096)
    pairs = struct.iter_unpack("=QQ", data[: len(data) // 16 * 16])
    found = next((value for kind, value in pairs if kind == _AT_ENTRY), 0)
    if not found:
        raise ProcessLookupError
    return int(found)


def _release(pid: int) -> None:
    """However far it came, the program is not to stay stopped."""
    try:
        _ptrace(_DETACH, pid, 0, 0)
    except OSError:
        return


def _ptrace(request: int, pid: int, address: int, data: int) -> None:
    host().syscall(number("ptrace"), request, pid, address, data)
