-- Waits for locks of the kernel, the longest first (microseconds).
-- needs: lock:contention_begin, lock:contention_end
with moves as (
  select event, ts, utid, cpu, lock_addr, true as begins, recording from "lock:contention_begin"
  union all
  select event, ts, utid, cpu, lock_addr, false, recording from "lock:contention_end"
), paired as (
  select *, lead(ts) over place as end_ts, lead(begins) over place as again
  from moves window place as (partition by utid, lock_addr order by event)
)
select p.ts, (p.end_ts - p.ts) / 1e3 as us, t.name as thread, t.tid, printf('0x%x', lock_addr::ubigint) as lock, f.function as site
from paired p join thread t using (utid) join event e on e.id = p.event
left join callsite c on c.id = e.callsite left join frame f on f.id = c.frame
where begins and not again
order by us desc
