-- Example queries over an export (docs/export.md), each of which a test runs. From its directory: `duckdb -init views.sql`.

-- The last cycles
select cycle_id, model_version, weights_version, candidates, scored, waiting, not_scored, received_at - cycle_time as delay
from cycles order by cycle_time desc limit 20;

-- Fates of the posts by day
select day, coalesce(fate, 'open') as fate, tier, count(*) as visits
from visits group by all order by all;

-- Where saved posts ranked just before they were saved
with last_score as (
  select gall_id, post_no, entered_cycle_id, tier, max_by(rank, cycle_time) as rank
  from scores join visits using (gall_id, post_no, entered_cycle_id)
  where fate = 'saved' and status = 'scored' and cycle_time < decided_at
  group by all
)
select tier, count(*) as saved, median(rank) as median_rank, avg(cast(rank <= 50 as int)) as in_top_50
from last_score group by tier order by tier;

-- Minutes from the extraction to the first score
with first_score as (
  select gall_id, post_no, entered_cycle_id, min(cycle_time) as first_at
  from scores where status = 'scored' group by all
)
select quantile_cont(date_diff('second', extracted_at, first_at) / 60, [0.5, 0.9, 0.99]) as minutes
from first_score join visits using (gall_id, post_no, entered_cycle_id);

-- Posts that ranked high and were hidden or deleted
select gall_id, post_no, title, fate, decided_at, min(rank) as best_rank
from scores join visits using (gall_id, post_no, entered_cycle_id)
where fate in ('hidden', 'deleted') and cycle_time < decided_at
group by all order by best_rank limit 20;

-- The scores of one post
select s.cycle_id, s.score, s.rank, s.p_views, s.p_comments, s.p_up, r.views, r.up, r.comment_cnt
from scores s left join readings r using (cycle_id, gall_id, post_no)
where gall_id = 'humor' and post_no = 1 order by s.cycle_time;

-- Why posts are not scored
select day, status, reason, count(*) as results, count(distinct (gall_id, post_no)) as posts
from scores where status <> 'scored' group by all order by all;

-- Delay between a decision and its report
select reason, count(*) as removals, median(known_at - decided_at) as median_delay, max(known_at - decided_at) as longest
from removals where entered_cycle_id is not null group by reason order by reason;

-- A shadow next to the model
select s.model_version, h.model_version as shadow, count(*) as scores, corr(s.rank, h.rank) as rank_correlation,
  avg(h.score - s.score) as mean_difference
from scores s join shadow_scores h using (cycle_id, gall_id, post_no)
group by all order by all;

-- Outcomes after 24 hours, by who picked
select picked_by, picked_model_version, count(*) as placements, median(views) as views, median(up) as up,
  corr(score_at_placement, views) as score_and_views
from outcomes join outcome_readings using (placement_id)
where age_h = 24 group by all order by all;
