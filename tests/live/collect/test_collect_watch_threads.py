"""Watchpoints in a process that has threads already."""

from __future__ import annotations

import subprocess
import sys

from collect_run import run

TARGET = """
import ctypes, threading, time
word = ctypes.c_int64(0)
def write():
    while True:
        word.value += 1
        time.sleep(0.005)
threading.Thread(target=write, daemon=True).start()
print(hex(ctypes.addressof(word)), flush=True)
time.sleep(60)
"""


def test_a_thread_that_ran_before():
    """The main thread only waits: what is seen is the other one."""
    target = subprocess.Popen([sys.executable, "-c", TARGET], stdout=subprocess.PIPE, text=True)
    try:
        assert target.stdout is not None
        address = target.stdout.readline().strip()
        program = f'watchpoint:{address}:8:w {{ printf("%d\\n", tid != pid); exit(); }}'
        assert run(program, "-p", str(target.pid)).out.split()[0] == "1"
    finally:
        target.kill()
        target.communicate()
