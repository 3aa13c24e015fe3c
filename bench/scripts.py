"""Long scripts of all kinds of statements, for measuring the compiler."""

from __future__ import annotations

CLAUSES = (
    """tracepoint:raw_syscalls:sys_enter
/pid == {n} && args.id < {m}/
{{
  $id = args.id;
  $big = ($id + {n}) * 3 - ({m} >> 2);
  if ($big > 100 || $id == {m}) {{
    @big{g} = $big;
  }} else {{
    @small{g}++;
  }}
  @calls{g}[pid, $id] = count();
}}
""",
    """tracepoint:raw_syscalls:sys_exit
{{
  $start = @start{g}[tid];
  if ($start) {{
    $ns = nsecs - $start;
    @latency{g}[comm] = hist($ns);
    @total{g}[comm, probe] = sum($ns / 1000);
    @slowest{g} = max($ns);
    delete(@start{g}, tid);
  }}
  @seen{g}[args.ret] = (uint64)1;
}}
""",
    """tracepoint:raw_syscalls:sys_enter
/comm == "worker{n}"/
{{
  @start{g}[tid] = nsecs;
  $name = comm;
  $pair = (pid, $name, {n});
  @pairs{g}[$pair.0] = $pair.1;
  printf("%-16s %6d %x %s\\n", $name, $pair.0, {m}, strncmp($name, "worker", 6) == 0 ? "yes" : "no");
  @depth{g} = lhist({n} % 100, 0, 100, 10);
  $i = 0;
  while ($i < 4) {{
    $i++;
    @loops{g}[$i] += $i * {n};
  }}
}}
""",
    """tracepoint:sched:sched_switch
{{
  let $next: int32 = args.next_pid;
  unroll (2) {{
    @runs{g}[$next] = avg($next & 0xff);
  }}
  for ($k : 0..3) {{
    @range{g}[$k] = (int64)$k + {n};
  }}
  @record{g} = (pid=$next, name=args.next_comm, number={n});
  @task{g}[((struct task_struct *)curtask).pid] = kstack(8);
  @text{g} = str_concat(args.prev_comm, "-{n}");
}}
""",
    """interval:s:{n}
{{
  printf("%d: %d\\n", {n}, @big{g});
  print(@calls{g}, {d}, {d});
  clear(@calls{g});
  time("%H:%M:%S\\n");
  if (@small{g} > {m}) {{
    zero(@latency{g});
  }}
}}
""",
)
PER_GROUP = 20
"""Clauses that share maps."""


def long_script(lines: int) -> str:
    """At least ``lines`` lines, the same for the same number."""
    out: list[str] = []
    have = n = 0
    while have < lines:
        clause = CLAUSES[n % len(CLAUSES)].format(n=n + 1, m=n * 7 + 3, g=n // PER_GROUP, d=n % 20 + 1)
        out.append(clause)
        have += clause.count("\n")
        n += 1
    return "".join(out)
