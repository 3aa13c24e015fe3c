-- Which interrupts hit which CPUs: how often, and for how long (microseconds).
select recording, cpu, name, count(*) as times, sum(dur) / 1e3 as total_us, max(dur) / 1e3 as max_us
from irq
group by all order by recording, cpu, times desc
