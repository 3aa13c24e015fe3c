-- Who wakes whom: how often, and how long the woken thread then waited for a CPU (milliseconds).
select a.name as waker, a.tid as waker_tid, b.name as wakee, b.tid as wakee_tid, count(*) as wakeups,
  count(*) filter (where w.interrupt) as in_interrupts, avg(r.dur) / 1e6 as avg_ms, max(r.dur) / 1e6 as max_ms
from wakeup w join thread b using (utid) left join thread a on a.utid = w.waker_utid
left join thread_state r on r.wakeup = w.id and r.state = 'runnable'
group by all order by wakeups desc
