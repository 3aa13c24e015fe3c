-- Which threads were interrupted: by what, how often, and for how long (microseconds).
select t.name as thread, t.tid, i.name, count(*) as times, sum(i.dur) / 1e3 as total_us
from irq i join thread t using (utid)
group by all order by total_us desc nulls last
