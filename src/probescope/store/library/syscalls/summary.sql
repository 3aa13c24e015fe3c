-- System calls by name: how many, how many failed, and how long they took (milliseconds).
select name, count(*) as calls, count(error) as errors, sum(dur) / 1e6 as total_ms, min(dur) / 1e6 as min_ms,
  avg(dur) / 1e6 as avg_ms, quantile_cont(dur, 0.99) / 1e6 as p99_ms, max(dur) / 1e6 as max_ms
from syscall
group by all order by total_ms desc nulls last
