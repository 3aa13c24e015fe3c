-- Waits in futex(), by thread and address: mutexes, condition variables and the like of programs (milliseconds).
select t.name as thread, t.tid, printf('0x%x', s.arg0) as futex, count(*) as waits, sum(s.dur) / 1e6 as total_ms,
  max(s.dur) / 1e6 as max_ms
from syscall s join thread t using (utid)
where s.name = 'futex' and (s.arg1 & 127) in (0, 6, 9, 11, 13) and s.dur is not null
group by all order by total_ms desc
