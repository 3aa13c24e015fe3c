"""Commands of system() do not keep a session from ending."""

from __future__ import annotations

import signal
import subprocess
import sys
import time


def test_interrupted_with_commands_waiting():
    """More commands than can be run in a minute are waiting when Ctrl-C comes: end runs soon, and what was left out is
    told."""
    program = 'tracepoint:sched:sched_switch { system("sleep 0.2"); } end { printf("the end\\n"); }'
    command = [sys.executable, "-m", "probescope", "run", "--unsafe", "-e", program]
    tracer = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert tracer.stderr is not None
        while "Attached" not in tracer.stderr.readline():
            assert tracer.poll() is None
        for _ in range(200):
            time.sleep(0.001)  # the work that is traced: switches
        begun = time.monotonic()
        tracer.send_signal(signal.SIGINT)
        out, err = tracer.communicate(timeout=300)
    finally:
        tracer.kill()
    assert "the end" in out
    assert "commands were not run" in err
    assert time.monotonic() - begun < 10
