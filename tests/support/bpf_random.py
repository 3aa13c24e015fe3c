"""Random LIR programs that the verifier accepts, for the tests of bpf/'s lower half.

The context of a program is INPUTS u64 numbers, then OUTPUTS that it writes (or a map has these). Programs are rich in
what makes allocation hard: many values alive at once, calls between, variables in loops and branches, atomics, argument
lists in odd orders.
"""

from __future__ import annotations

from probescope.bpf.builder import Builder

INPUTS, OUTPUTS = 6, 24
CONTEXT = 8 * (INPUTS + OUTPUTS)
NUMBERS = [
    0,
    1,
    -1,
    2,
    7,
    8,
    63,
    64,
    255,
    256,
    0x7FFFFFFF,
    -0x80000000,
    0x80000000,
    0xFFFFFFFF,
    1 << 40,
    -(1 << 63),
    (1 << 63) - 1,
]
ALU = "add sub mul div mod and or xor shl shr sar sdiv smod".split()
CONDITIONS = "eq ne lt le gt ge slt sle sgt sge set".split()


class Random:
    def __init__(self, rng, features, size, results="context"):
        """``results``: "context" (may be written by syscall programs) or the name of an array map of 8 * OUTPUTS
        bytes."""
        self.rng = rng
        self.results = results
        self.features = features
        self.size = size
        self.helpers = ["ktime_get_ns", "get_smp_processor_id"]

    def number(self):
        r = self.rng
        return r.choice(NUMBERS) if r.random() < 0.7 else r.randrange(-(1 << 63), 1 << 63)

    def program(self):
        """[main, mix]: mix is a local function of five numbers."""
        b = Builder("main", self.features)
        self.b, self.context = b, b.parameters[0]
        self.values = [b.load(self.context, 8 * n, 8) for n in range(INPUTS)]
        self.variables = []
        self.depth = 0
        for _ in range(self.rng.randrange(4)):
            self.variable()
        self.statements(self.size)
        self.outputs()
        return [b.finish(), self.mix()]

    def outputs(self):
        b = self.b
        chosen = [*self.variables, *self.values]
        self.rng.shuffle(chosen)
        in_context = self.results == "context"
        base = self.context if in_context else b.map_value(self.results)
        for n, v in enumerate(chosen[:OUTPUTS]):
            b.store(base, 8 * (INPUTS + n if in_context else n), v, 8)
        b.exit(self.pick())

    def mix(self):
        b = Builder("mix", self.features, "local", parameters=5)
        p = b.parameters
        x = b.alu("xor", b.alu_imm("mul", p[0], 31), p[1])
        y = b.alu("sub", b.alu_imm("shl", p[2], 3), p[3])
        if self.rng.random() < 0.5:
            b.call("ktime_get_ns", pure=False)
        b.exit(b.alu("add", b.alu("xor", x, y), b.alu_imm("mul", p[4], 7)))
        return b.finish()

    def pick(self):
        return self.rng.choice(self.values + self.variables)

    def variable(self):
        v = self.b.reg()
        self.b.assign(v, self.pick()) if self.rng.random() < 0.7 else self.b.assign_imm(v, self.number())
        self.variables.append(v)

    def statements(self, count):
        kinds = [self.arithmetic] * 8 + [self.small] * 3 + [self.call] * 2 + [self.helper] * 2
        kinds += [self.branch, self.loop, self.assign, self.assign, self.slot]
        if self.features.has("isa:atomic_fetch"):
            kinds += [self.atomic, self.cmpxchg]
        for _ in range(count):
            self.rng.choice(kinds)()

    def arithmetic(self):
        r, b = self.rng, self.b
        bits = r.choice([64, 64, 32])
        into = r.choice(self.variables) if self.variables and r.random() < 0.3 else None
        if r.random() < 0.5:
            v = b.alu(r.choice(ALU), self.pick(), self.pick(), bits, into)
        else:
            v = b.alu_imm(r.choice(ALU), self.pick(), self.number(), bits, into)
        if into is None:
            self.values.append(v)

    def small(self):
        r, b = self.rng, self.b
        make = r.choice(
            [
                lambda: b.neg(self.pick(), r.choice([32, 64])),
                lambda: b.sext(self.pick(), r.choice([8, 16, 32])),
                lambda: b.zext(self.pick(), r.choice([8, 16, 32])),
                lambda: b.swap(self.pick(), r.choice([16, 32, 64]), r.choice(["be", "le", "swap"])),
                lambda: b.const(self.number()),
                lambda: b.copy(self.pick()),
                lambda: b.load(self.context, r.choice([0, 8, 16]), r.choice([1, 2, 4, 8]), signed=r.random() < 0.5),
            ]
        )
        self.values.append(make())

    def call(self):
        self.values.append(self.b.local("mix", *[self.pick() for _ in range(5)]))

    def helper(self):
        self.b.call(self.rng.choice(self.helpers), pure=False)

    def assign(self):
        if self.variables and self.rng.random() < 0.8:
            self.b.assign(self.rng.choice(self.variables), self.pick())
        else:
            self.variable()

    def nested(self, count):
        """Statements whose fresh values are not known afterwards."""
        values, variables = self.values[:], self.variables[:]
        self.depth += 1
        self.statements(count)
        self.depth -= 1
        self.values, self.variables = values, variables

    def branch(self):
        if self.depth > 2:
            return
        r, b = self.rng, self.b
        then, otherwise, out = b.block(cold=r.random() < 0.3), b.block(cold=r.random() < 0.3), b.block()
        bits = r.choice([64, 32])
        if r.random() < 0.5:
            b.branch(r.choice(CONDITIONS), self.pick(), self.pick(), then, otherwise, bits)
        else:
            b.branch_imm(r.choice(CONDITIONS), self.pick(), self.number(), then, otherwise, bits)
        b.place(then)
        self.nested(r.randrange(4))
        if r.random() < 0.1:
            self.outputs()
        else:
            b.jump(out)
        b.place(otherwise)
        self.nested(r.randrange(4))
        b.place(out)

    def loop(self):
        if self.depth > 1:
            return
        b = self.b
        head, body, out = b.block(), b.block(), b.block()
        i = b.reg()
        b.assign_imm(i, 0)
        b.place(head)
        b.branch_imm("lt", i, self.rng.randrange(1, 4), body, out)
        b.place(body)
        self.nested(self.rng.randrange(1, 4))
        b.alu_imm("add", i, 1, into=i)
        b.jump(head)
        b.place(out)

    def slot(self):
        r, b = self.rng, self.b
        s = b.slot(r.choice([8, 16, 24]), name="s")
        scoped = r.random() < 0.7
        if scoped:
            b.begin(s)
        b.zero_slot(s)
        b.store_slot(s, 0, self.pick(), r.choice([1, 2, 4, 8]))
        b.store_imm(b.slot_address(s), 4, self.number(), r.choice([1, 2, 4]))
        self.nested(r.randrange(3))
        v = b.load_slot(s, r.choice([0, 2, 4]) if r.random() < 0.3 else 0, r.choice([1, 2]), signed=r.random() < 0.5)
        self.values += [v, b.load_slot(s, 0, 8)]
        if scoped:
            b.end(s)

    def atomic(self):
        r, b = self.rng, self.b
        s = b.slot(8, name="a")
        size = r.choice([4, 8])
        b.store_slot(s, 0, self.pick(), 8)
        address = b.slot_address(s)
        if r.random() < 0.4:
            b.atomic(r.choice(["add", "and", "or", "xor"]), address, 0, self.pick(), size)
        else:
            name = r.choice(["fetch_add", "fetch_and", "fetch_or", "fetch_xor", "xchg"])
            self.values.append(b.fetch(name, address, 0, self.pick(), size))
        self.values.append(b.load(address, 0, 8))

    def cmpxchg(self):
        r, b = self.rng, self.b
        s = b.slot(8, name="c")
        b.store_slot(s, 0, self.pick(), 8)
        old = b.load_slot(s, 0, 8)
        expected = old if r.random() < 0.5 else self.pick()
        address = b.alu_imm("add", b.slot_address(s), 0)
        self.values.append(b.cmpxchg(address, 0, expected, self.pick(), r.choice([4, 8])))
        self.values.append(b.load_slot(s, 0, 8))
