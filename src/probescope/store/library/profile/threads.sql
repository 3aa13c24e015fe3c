-- Samples by thread: how many, and what they stand for; in the kernel, and in programs.
select k.name as event, t.name as thread, t.tid, count(*) as samples, sum(s.period) as weight,
  count(*) filter (where s.mode = 'kernel') as kernel, count(*) filter (where s.mode = 'user') as user
from sample s join thread t using (utid) join event_kind k on k.id = s.kind
group by all order by weight desc
