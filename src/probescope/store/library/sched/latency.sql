-- How long threads waited for a CPU after they were woken up, and how long they ran, by thread: what perf sched
-- latency sums up, waits after having had to leave a CPU included. Times in milliseconds.
with waits as (
  select utid, count(*) as switches, sum(dur) as waited, avg(dur) as average, quantile_cont(dur, 0.99) as p99,
    max(dur) as longest, arg_max(ts, dur) as longest_ts
  from thread_state where state = 'runnable' and dur is not null group by utid
), runs as (
  select utid, sum(dur) as ran from sched_slice where dur is not null group by utid
)
select t.utid, t.tid, t.name, r.ran / 1e6 as run_ms, w.switches, w.average / 1e6 as avg_ms, w.p99 / 1e6 as p99_ms,
  w.longest / 1e6 as max_ms, w.longest_ts as max_ts, w.waited / 1e6 as wait_ms
from waits w join thread t using (utid) left join runs r using (utid)
order by w.longest desc
