"""python -m vmtest: run a command, or tests/kernels, inside another kernel.

vmtest run --kernel 6.12 -- uname -r
vmtest test --kernel 6.1 6.12 -- -k kprobe
vmtest list
vmtest fetch --refresh --kernel 6.12
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from vmtest import machine, packages, suite
from vmtest.errors import VmtestError
from vmtest.kernels import KERNELS, cache, named


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="vmtest", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    top.add_argument("--list", action="store_true", help="the kernels that there are")
    commands = top.add_subparsers(dest="do")
    run = commands.add_parser("run", help="one command inside one kernel; its exit code is returned")
    run.add_argument("--kernel", default="6.12", help="default: %(default)s")
    run.add_argument("--timeout", type=float, default=600, help="seconds for the command (default: %(default)s)")
    run.add_argument("--memory", default="2G")
    run.add_argument("--cpus", type=int, default=2)
    run.add_argument("--threads", choices=("multi", "single"), default="single", help="of the emulation")
    run.add_argument("--results", type=Path, help="a folder for the guest's console and what it left in /run/vmtest")
    run.add_argument("command", nargs="+", help="after --")
    test = commands.add_parser("test", help="tests/kernels inside kernels, one boot each")
    test.add_argument("--kernel", nargs="+", default=["6.1", "6.12"])
    test.add_argument("--timeout", type=float, default=2400, help="seconds for each kernel (default: %(default)s)")
    test.add_argument("--results", type=Path, default=suite.ROOT / "build" / "vmtest", help="default: build/vmtest")
    test.add_argument("arguments", nargs="*", help="for pytest, after --")
    fetch = commands.add_parser("fetch", help="download kernels")
    fetch.add_argument("--kernel", nargs="+", default=["6.1", "6.12"])
    fetch.add_argument("--refresh", action="store_true", help="look for newer ones")
    commands.add_parser("list", help="the kernels that there are")
    return top


def show() -> None:
    for kernel in KERNELS.values():
        found = packages.installed(kernel)
        state = found.release if found else "not downloaded"
        print(f"{kernel.name:8} {kernel.suite:9} {state:24} {kernel.note}")
    print(f"cache: {cache()}")


def dispatch(arguments: argparse.Namespace) -> int:
    if arguments.do == "run":
        job = machine.Job(arguments.command, Path.cwd(), arguments.timeout)
        shape = machine.Shape(arguments.memory, arguments.cpus, arguments.threads)
        return machine.run(named(arguments.kernel), job, shape=shape, results=arguments.results)
    if arguments.do == "test":
        kernels = [named(name) for name in arguments.kernel]
        return suite.run(kernels, arguments.arguments, results=arguments.results, timeout=arguments.timeout)
    if arguments.do == "fetch":
        for name in arguments.kernel:
            print(name, packages.ensure(named(name), refresh=arguments.refresh).release)
        return 0
    show()
    return 0


def main() -> int:
    top = parser()
    arguments = top.parse_args()
    if not arguments.do and not arguments.list:
        top.print_help()
        return 2
    try:
        return dispatch(arguments)
    except VmtestError as error:
        machine.say(str(error))
        return 125  # as env(1) and docker run say that they, not the command, failed
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
