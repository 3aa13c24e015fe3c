-- Locks of the kernel that were waited for: how often, how long, by how many threads (microseconds).
-- needs: lock:contention_begin, lock:contention_end
select lock, count(*) as waits, count(distinct tid) as threads, sum(us) as total_us, avg(us) as avg_us, max(us) as max_us
from locks.waits
group by all order by total_us desc
