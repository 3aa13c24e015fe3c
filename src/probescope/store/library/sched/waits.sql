-- Single waits for a CPU, the longest first (milliseconds): since when, who woke the thread, and where it ran then.
select r.ts, r.dur / 1e6 as ms, t.name, t.tid, r.preempted, w.name as waker, w.tid as waker_tid, s.cpu, r.id
from thread_state r join thread t using (utid) left join thread w on w.utid = r.waker_utid
left join sched_slice s on s.utid = r.utid and s.ts = r.end_ts
where r.state = 'runnable' and r.dur is not null
order by r.dur desc
