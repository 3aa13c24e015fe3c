"""make demo: three questions about this very machine, each a short program explained line by line and then run.

While they run, a little work (tar and gzip over /usr/share, niced) makes sure that even an idle machine has something
to show. DEMO_SECONDS sets how long each program watches (5).
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROBESCOPE = [str(Path(sys.executable).parent / "probescope"), "run", "-e"]
WORK = "while :; do tar cf - /usr/share 2>/dev/null | gzip -1 >/dev/null; done"


@dataclass(frozen=True, slots=True)
class Question:
    """What a person wants to know, and the lines of the program that answers, each with what it means."""

    asks: str
    lines: tuple[tuple[str, str], ...]
    reading: str

    def program(self, seconds: int) -> str:
        return "\n".join(code for code, _ in self.lines).replace("SECONDS", str(seconds))


QUESTIONS = (
    Question(
        "Who makes which system calls?",
        (
            ("tracepoint:syscalls:sys_enter_*", "at the entry of every system call there is ..."),
            ("{ @calls[comm, probe] = count(); }", "... count, by program name and by the call's name"),
            ("interval:s:SECONDS", "after a few seconds ..."),
            ("{ print(@calls, 15); clear(@calls); exit(); }", "... print the 15 largest counts and leave"),
        ),
        "Each line: the program, the system call, how many times. Counting happens inside the kernel.",
    ),
    Question(
        "How long do system calls take?",
        (
            ("tracepoint:raw_syscalls:sys_enter", "when a system call begins ..."),
            ("{ @begun[tid] = nsecs; }", "... remember the time, by thread"),
            ("tracepoint:raw_syscalls:sys_exit /@begun[tid]/", "when one ends whose beginning was seen ..."),
            ("{ @nanoseconds = hist(nsecs - @begun[tid]);", "... put the time between into a histogram"),
            ("  delete(@begun[tid]); }", "    and forget the beginning"),
            ("interval:s:SECONDS { exit(); }", "after a few seconds leave; maps that are left are printed"),
            ("END { clear(@begun); }", "those still waiting are of no interest"),
        ),
        "Each line: from, to (excluded), how many calls took that many nanoseconds. K, M and G are powers of 1,024.",
    ),
    Question(
        "Where does the processors' time go?",
        (
            ("profile:hz:99", "99 times a second, on every processor ..."),
            ("{ @stacks[kstack(4), ustack(4), comm] = count(); }", "... count the stacks of kernel and program"),
            ("interval:s:SECONDS", "after a few seconds ..."),
            ("{ print(@stacks, 5); clear(@stacks); exit(); }", "... print the five that were met most often"),
        ),
        "Each entry: four functions of the kernel (if it was there), four of the program, its name, how often seen.",
    ),
)


@contextlib.contextmanager
def something_to_see() -> Generator[None]:
    work = subprocess.Popen(
        ["nice", "sh", "-c", WORK], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield
    finally:
        os.killpg(work.pid, 15)
        work.wait()


def explain(question: Question, number: int, seconds: int) -> None:
    width = max(len(code) for code, _ in question.lines) + 2
    print(f"\n{'=' * 100}\n{number}. {question.asks}\n")
    for code, meaning in question.lines:
        print(f"    {code.replace('SECONDS', str(seconds)):{width}}# {meaning}")
    print(f"\n{question.reading}\n", flush=True)


def main() -> int:
    seconds = int(os.environ.get("DEMO_SECONDS", "5"))
    if os.geteuid() != 0:
        print("The demo traces the running kernel and needs root: sudo make demo", file=sys.stderr)
        return 1
    began = time.monotonic()
    with something_to_see():
        for number, question in enumerate(QUESTIONS, 1):
            explain(question, number, seconds)
            code = subprocess.run([*PROBESCOPE, question.program(seconds)], check=False).returncode
            if code:
                print(f"the program ended with {code}", file=sys.stderr)
                return code
    print(f"\n{'=' * 100}\nThree answers in {time.monotonic() - began:.0f} seconds, and nothing stays in the kernel.")
    print("Next: probescope list 'tracepoint:sched:*', probescope explain PROBE, probescope doctor")
    return 0


if __name__ == "__main__":
    sys.exit(main())
