-- What each thread did with its time: milliseconds in each state.
select t.utid, t.tid, t.name, s.state, count(*) as times, sum(s.dur) / 1e6 as ms, max(s.dur) / 1e6 as max_ms
from thread_state s join thread t using (utid)
where s.dur is not null
group by all order by ms desc
