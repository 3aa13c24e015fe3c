-- How busy each CPU was, as far as its switches tell: milliseconds busy and idle, and how often it changed hands.
select s.recording, s.cpu, count(*) as switches,
  sum(s.dur) filter (where t.tid <> 0) / 1e6 as busy_ms, sum(s.dur) filter (where t.tid = 0) / 1e6 as idle_ms,
  100.0 * sum(s.dur) filter (where t.tid <> 0) / sum(s.dur) as busy_percent
from sched_slice s join thread t using (utid)
where s.dur is not null
group by all order by all
