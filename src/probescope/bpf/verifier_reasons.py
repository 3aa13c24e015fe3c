"""What the verifier's messages mean, as a table: pattern, sentence ({0} is its first group), what to do.

Source: the verbose() calls of kernel/bpf/verifier.c and kernel/bpf/btf.c, 5.10 to 6.18; the first that matches counts.
"""

from __future__ import annotations

import re
from functools import cache

from probescope.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Known:
    pattern: re.Pattern[str]
    reason: str
    hints: tuple[str, ...] = ()
    ours: bool = False

    @property
    def whole(self) -> bool:
        """Whether the sentence says it all, and needs no words about the kernel and the program before it."""
        return self.reason == NOT_ALLOWED


NOT_ALLOWED = "helper {0} not allowed in probe"
_ANOTHER = "use another kind of probe for it; `probescope doctor` lists what works here"
_SMALLER = "split the clause into several, shorten strings and loops"
_READ = "read it through a pointer of a known type, for example ((struct task_struct *)curtask)->pid"

# (pattern, sentence, hints, whether a right compiler would never cause it)
_TABLE: tuple[tuple[str, str, tuple[str, ...], bool], ...] = (
    # --- too much of something
    (r"BPF program is too large. Processed (\d+) insn", "verifying it takes more than {0} steps", (_SMALLER,), False),
    (r"The sequence of (\d+) jumps is too complex", "it has too many branches in a row ({0})", (_SMALLER,), False),
    (
        r"combined stack size of (\d+) calls is (\d+)",
        "its functions need {1} bytes of stack together, 512 are there",
        ("use fewer or smaller variables, or shorter strings",),
        False,
    ),
    (r"the call stack of (\d+) frames is too deep", "its functions call each other {0} deep, 8 is the most", (), True),
    (r"infinite loop detected", "a loop does not end as far as the kernel can see", ("give the loop a bound",), False),
    (
        r"back-edge from insn (\d+) to (\d+)",
        "this kernel takes no loops (they came with 5.3)",
        ("use unroll(N) instead of a loop",),
        False,
    ),
    # --- not allowed to this kind of program, on this kernel, or to this user
    (
        r"(?:program of this type cannot use helper|unknown func) (\w+?)(?:#\d+)?$|helper call is not allowed in probe",
        NOT_ALLOWED,
        (_ANOTHER,),
        False,
    ),
    (r"invalid func \w+#(\d+)", "this kernel has no helper function number {0}", (), False),
    (
        r"cannot call GPL-restricted function from non-GPL",
        "a helper is reserved to GPL programs, and this one is loaded with another licence",
        (),
        True,
    ),
    (r"calling kernel function (\S+) is not allowed", "this kind of probe may not call {0}", (), False),
    (r"kernel btf_id (\d+) is not a (?:kernel )?function", "the kernel has no such function any more", (), True),
    (
        r"calling kernel functions? (?:are|is) not supported|kfunc .* not supported",
        "this kernel cannot call kernel functions from programs",
        (),
        False,
    ),
    (
        r"helper call might sleep in a non-sleepable prog|must be sleepable to call sleepable",
        "it calls something that may sleep, and this kind of probe may not sleep",
        (),
        False,
    ),
    (
        r"R(\d+) leaks addr|leaks addr|R(\d+) pointer comparison prohibited|pointer arithmetic .* prohibited for !root",
        "without CAP_PERFMON it may not look at addresses",
        ("run as root, or with CAP_BPF and CAP_PERFMON",),
        False,
    ),
    (
        r"missing kernel BTF|btf_vmlinux is malformed|in-kernel BTF is malformed",
        "this kernel was built without type information (CONFIG_DEBUG_INFO_BTF)",
        (),
        False,
    ),
    (
        r"attach_btf_id (\d+) is not a function|must have attach_btf_id|func '(\S+)' .* is not a function",
        "the function to attach to is not in the kernel's type information",
        ("list what can be probed: probescope list 'fentry:*NAME*'",),
        False,
    ),
    (
        r"helper access to the packet is not allowed|direct packet access|invalid access to packet",
        "a packet's bytes cannot be passed to this function",
        ("copy the bytes into a variable first",),
        False,
    ),
    (r"cannot pass map_type (\d+) into func (\w+)", "{1} does not work on a map of this type", (), True),
    (r"write into map forbidden", "it writes into a map that may only be read", (), True),
    (
        r"unknown opcode ([0-9a-f]+)|BPF_\w+ uses reserved fields|invalid atomic operand",
        "this kernel lacks an instruction",
        (),
        True,
    ),
    # --- memory
    (
        r"R(\d+) invalid mem access '(?:scalar|inv)'",
        "it reads memory through a plain number",
        (_READ,),
        False,
    ),
    (
        r"R(\d+) invalid mem access '(\w*(?:or_null|_null)\w*)'",
        "a value that may be missing is used without asking whether it is there",
        (),
        True,
    ),
    (r"R(\d+) invalid mem access '(\S+)'", "it reads memory through a {1}", (_READ,), False),
    (
        r"invalid access to map value, value_size=(\d+) off=(-?\d+) size=(\d+)",
        "it reaches outside of a map's value: {2} bytes at {1} of {0}",
        ("check the index against the array's size",),
        False,
    ),
    (
        r"invalid access to memory, mem_size=(\d+) off=(-?\d+) size=(\d+)",
        "it reaches outside of a piece of memory: {2} bytes at {1} of {0}",
        ("check the index against the array's size",),
        False,
    ),
    (
        r"R(\d+) unbounded memory access|R(\d+) m(?:in|ax) value is (?:negative|outside)|register with unbounded min",
        "the kernel cannot see that an index or a length stays within its bounds",
        ("compare it with a constant before it is used",),
        False,
    ),
    (
        r"invalid bpf_context access off=(\d+) size=(\d+)",
        "this part of the event cannot be read ({1} bytes at {0})",
        ("list the event's fields: probescope list -v PROBE",),
        False,
    ),
    (
        r"dereference of modified \S+ ptr|modified ctx ptr R(\d+)",
        "the context is read at an offset not known beforehand",
        (),
        True,
    ),
    (
        r"access beyond (?:struct|the end of member) (\S+)|cannot access ptr member (\S+)|bad btf_id|access beyond",
        "it reads past the end of struct {0}",
        (_READ,),
        False,
    ),
    (r"misaligned (\w+) access", "an access to {0} memory is not aligned", (), True),
    (
        r"invalid (?:indirect |variable-offset )?(?:read from|access to|write to|read|write) .*stack|invalid stack",
        "it uses a part of the stack that was not written, or is not its own",
        (),
        True,
    ),
    (r"R(\d+) type=(\S+) expected=(.+)", "an argument is a {1} where one of these is needed: {2}", (), True),
    (r"arg#(\d+) (expected .+|is .+)", "argument {0} of a kernel function: {1}", (), False),
    (r"R(\d+) invalid zero-sized read", "a length may be zero, which this kernel does not take", (), True),
    # --- what a compiler does wrong
    (r"R(\d+) !read_ok", "register {0} is read before it is written", (), True),
    (r"frame pointer is read only", "the frame pointer is written", (), True),
    (r"unreachable insn (\d+)", "instruction {0} can never be reached", (), True),
    (r"jump out of range", "a branch leaves the program", (), True),
    (r"last insn is not an exit or jmp|subprog .* fall through", "it does not end in an exit", (), True),
    (r"invalid size of register (?:fill|spill)|corrupted spill", "a part of a saved address is used", (), True),
    (
        r"Unreleased reference|lead to reference leak|reference has not been released",
        "a ring buffer record is neither submitted nor discarded",
        (),
        True,
    ),
    (r"At program exit the register R0 (.+)", "its result is wrong: {0}", (), True),
    (r"div by zero|invalid shift (\d+)", "a constant divides by zero or shifts too far", (), True),
    (
        r"missing btf func_info|callback function not static|number of funcs in func_info",
        "a callback has no type",
        (),
        True,
    ),
    (
        r"R(\d+) (?:32-bit )?pointer arithmetic|R\d+ bitwise operator|R\d+ pointer",
        "an address is calculated with in a way that the kernel refuses",
        (),
        False,
    ),
)


@cache
def known_reasons() -> tuple[Known, ...]:
    """Compiled at the first refusal, not before: most sessions see none."""
    return tuple(Known(re.compile(p), reason, hints, ours) for p, reason, hints, ours in _TABLE)
