-- Every stretch of a thread on a CPU, with how long it had been away and how long it had waited since it was woken up:
-- the columns of perf sched timehist. Times in milliseconds; NULL where the recording does not tell.
select s.end_ts, s.cpu, t.name, t.tid, p.pid,
  (s.ts - lag(s.end_ts) over (partition by s.utid order by s.end_ts)) / 1e6 as wait_ms,
  (s.ts - w.ts) / 1e6 as delay_ms, s.dur / 1e6 as run_ms, s.end_state, s.utid
from sched_slice s
join thread t using (utid) left join process p using (upid)
left join thread_state r on r.utid = s.utid and r.end_ts = s.ts and r.state = 'runnable'
left join wakeup w on w.id = r.wakeup
where t.tid <> 0 and s.end_ts is not null
order by s.end_ts
