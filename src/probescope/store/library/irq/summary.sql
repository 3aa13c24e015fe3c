-- Interrupts by handler: how many, on which CPUs, and how long they took (microseconds).
select name, irq, count(*) as times, list_sort(list(distinct cpu)) as cpus, sum(dur) / 1e3 as total_us, avg(dur) / 1e3 as avg_us,
  quantile_cont(dur, 0.99) / 1e3 as p99_us, max(dur) / 1e3 as max_us
from irq
group by all order by total_us desc nulls last
