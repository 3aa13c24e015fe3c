-- System calls that had not returned when the recording ended, or whose return was lost: the oldest first.
select s.ts, t.name as thread, t.tid, s.name, s.arg0, s.arg1, s.arg2
from syscall s join thread t using (utid)
where s.end_ts is null
order by s.ts
