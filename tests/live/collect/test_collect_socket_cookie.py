"""Cookies of sockets, as the kernel tells them to whoever has the socket open."""

from __future__ import annotations

import os
import socket
import struct

import pytest
from collect_run import Running

SO_COOKIE = 57  # include/uapi/asm-generic/socket.h

LISTEN = "rawtracepoint:inet_sock_set_state /pid == PID && args.newstate == 10/"


@pytest.mark.parametrize("how", ["", ' printf("%d ", args.oldstate);'])
def test_cookie_at_a_raw_tracepoint(how: str) -> None:
    """The argument of a raw tracepoint is a socket that the kernel knows as one."""
    program = LISTEN.replace("PID", str(os.getpid())) + f" {{{how} print(socket_cookie(args.sk)); exit(); }}"
    with Running(program) as session, socket.socket() as made:
        made.listen()
        (cookie,) = struct.unpack("=Q", made.getsockopt(socket.SOL_SOCKET, SO_COOKIE, 8))
        assert session.wait().out.split()[-1] == str(cookie)
