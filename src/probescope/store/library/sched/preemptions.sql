-- Who takes the CPU from whom: how often, and how long the one that had to leave waited for a CPU again (milliseconds).
select v.name as victim, v.tid as victim_tid, o.name as taker, o.tid as taker_tid, count(*) as times,
  sum(r.dur) / 1e6 as wait_ms, max(r.dur) / 1e6 as max_ms
from thread_state r
join sched_slice s on s.cpu = r.cpu and s.ts = r.ts and s.recording = r.recording
join thread v on v.utid = r.utid join thread o on o.utid = s.utid
where r.preempted
group by all order by times desc
