-- Samples by stack, outermost function first: the text that flame graphs are drawn from.
with recursive path as (
  select c.id, f.function as stack from callsite c join frame f on f.id = c.frame where c.parent is null
  union all
  select c.id, p.stack || ';' || f.function from path p join callsite c on c.parent = p.id join frame f on f.id = c.frame
)
select k.name as event, p.stack, count(*) as samples, sum(s.period) as weight
from sample s join path p on p.id = s.callsite join event_kind k on k.id = s.kind
group by all order by weight desc
