-- How many requests each disk had at once, over time: a row for each change.
-- needs: block:block_rq_issue, block:block_rq_complete
with changes as (
  select device, recording, ts, 1 as change from io.requests where end_ts is not null
  union all
  select device, recording, end_ts, -1 from io.requests where end_ts is not null
)
select device, ts, sum(change) over (partition by recording, device order by ts, change rows unbounded preceding) as depth,
  recording
from changes
order by ts
