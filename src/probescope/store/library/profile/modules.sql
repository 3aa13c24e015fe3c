-- Samples by the file that their innermost function is in.
select k.name as event, f.module, count(*) as samples, sum(s.period) as weight
from sample s join event_kind k on k.id = s.kind join callsite c on c.id = s.callsite join frame f on f.id = c.frame
group by all order by weight desc
