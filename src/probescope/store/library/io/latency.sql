-- How long requests to disks took, by device and kind (R read, W write, D discard, F flush, S sync...), in microseconds.
-- needs: block:block_rq_issue, block:block_rq_complete
select device, rwbs, count(*) as requests, sum(bytes) as bytes, avg(us) as avg_us, quantile_cont(us, 0.5) as p50_us,
  quantile_cont(us, 0.99) as p99_us, max(us) as max_us
from io.requests
group by all order by requests desc
