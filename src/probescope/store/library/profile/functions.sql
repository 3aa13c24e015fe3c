-- Where samples were, by function: in itself, and with all that it called. A function that calls itself counts once.
with recursive own as (
  select kind, callsite, sum(period) as weight, count(*) as samples from sample where callsite is not null group by all
), up as (
  select kind, callsite as leaf, callsite as at, weight, samples from own
  union all
  select u.kind, u.leaf, c.parent, u.weight, u.samples from up u join callsite c on c.id = u.at where c.parent is not null
), total as (
  select kind, function, module, sum(weight) as total, sum(samples) as total_samples
  from (select distinct u.kind, u.leaf, u.weight, u.samples, f.function, f.module
    from up u join callsite c on c.id = u.at join frame f on f.id = c.frame)
  group by all
), self as (
  select o.kind, f.function, f.module, sum(o.weight) as self, sum(o.samples) as self_samples
  from own o join callsite c on c.id = o.callsite join frame f on f.id = c.frame group by all
)
select k.name as event, t.function, t.module, coalesce(s.self, 0) as self, t.total,
  100.0 * coalesce(s.self, 0) / sum(coalesce(s.self, 0)) over (partition by t.kind) as self_percent,
  coalesce(s.self_samples, 0) as self_samples, t.total_samples
from total t join event_kind k on k.id = t.kind left join self s using (kind, function, module)
order by self desc, total desc
