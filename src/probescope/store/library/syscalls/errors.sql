-- Errors that system calls returned: which, how often, to how many threads.
select name, error, count(*) as times, count(distinct utid) as threads, min(end_ts) as first_ts
from syscall
where error is not null
group by all order by times desc
