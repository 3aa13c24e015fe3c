-- Soft interrupts by kind: how many, how long they took, and how long they had waited since they were raised
-- (microseconds).
select name, count(*) as times, sum(dur) / 1e3 as total_us, avg(dur) / 1e3 as avg_us, max(dur) / 1e3 as max_us,
  avg(ts - raised_ts) / 1e3 as avg_wait_us, max(ts - raised_ts) / 1e3 as max_wait_us
from softirq
group by all order by total_us desc nulls last
