-- The same by thread and name: what perf trace -s sums up. Only calls whose begin and end were recorded (milliseconds).
select t.utid, t.tid, t.name as thread, s.name, count(*) as calls, count(s.error) as errors, sum(s.dur) / 1e6 as total_ms,
  min(s.dur) / 1e6 as min_ms, avg(s.dur) / 1e6 as avg_ms, max(s.dur) / 1e6 as max_ms
from syscall s join thread t using (utid)
where s.dur is not null
group by all order by t.utid, total_ms desc
