"""Constants of C's headers that scripts use without including them: error numbers, signals, address families, system
calls.

They are part of Linux' stable interface. Asked only for words that are nothing else.
"""

from __future__ import annotations

_PLAIN: dict[str, int] = {
    "NULL": 0,
    "AF_UNSPEC": 0,
    "AF_UNIX": 1,
    "AF_INET": 2,
    "AF_NETLINK": 16,
    "AF_INET6": 10,
    "AF_PACKET": 17,
    "IPPROTO_ICMP": 1,
    "IPPROTO_TCP": 6,
    "IPPROTO_UDP": 17,
    "SOCK_STREAM": 1,
    "SOCK_DGRAM": 2,
    "O_RDONLY": 0,
    "O_WRONLY": 1,
    "O_RDWR": 2,
    "TASK_COMM_LEN": 16,
}
_PREFIXES = ("E", "SIG", "__NR_", "SYS_")


def lookup(name: str, arch: str) -> int | None:
    """The value of a constant by its name, or ``None``."""
    found = _PLAIN.get(name)
    if found is not None or not name.startswith(_PREFIXES):
        return found
    if name.startswith("SIG"):
        return signal_number(name)
    if name.startswith(("__NR_", "SYS_")):
        from probescope.model import syscalls

        return syscalls.numbers(arch).get(name.removeprefix("__NR_").removeprefix("SYS_"))
    import errno

    value = getattr(errno, name, None)
    return value if isinstance(value, int) else None


def signal_number(name: str) -> int | None:
    """The number of ``KILL`` or ``SIGKILL``."""
    import signal

    found = getattr(signal.Signals, name if name.startswith("SIG") else f"SIG{name}", None)
    return int(found) if found is not None else None


def signal_text(number: int) -> str:
    """``Interrupt`` for 2, as strsignal(3) says it; ``N/A`` for what no Linux has."""
    import signal

    if not 0 <= number <= signal.NSIG:
        return "N/A"
    try:
        return signal.strsignal(number) or f"Unknown signal {number}"
    except ValueError:
        return f"Unknown signal {number}"
