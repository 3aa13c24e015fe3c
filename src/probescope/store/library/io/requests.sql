-- Requests to disks, from when the driver got them until they were done (microseconds), with who asked for them.
-- needs: block:block_rq_issue, block:block_rq_complete
with moves as (
  select ts, dev, sector, nr_sector, rwbs, utid, cpu, true as issued, recording from "block:block_rq_issue"
  union all
  select ts, dev, sector, nr_sector, rwbs, utid, cpu, false, recording from "block:block_rq_complete"
), paired as (
  select *, lead(ts) over place as end_ts, lead(issued) over place as again
  from moves window place as (partition by recording, dev, sector order by ts, not issued)
)
select p.ts, case when not again then p.end_ts end as end_ts, case when not again then (p.end_ts - p.ts) / 1e3 end as us,
  (dev >> 20) || ':' || (dev & 1048575) as device, rwbs, sector, nr_sector * 512 as bytes, t.name as thread, t.tid, p.cpu,
  p.recording
from paired p left join thread t using (utid)
where issued
order by p.ts
