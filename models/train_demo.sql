/* The rows that train_demo.py reads, from an export with features. One scored cycle in six (each half hour) of each post that
   operators placed on a board, up to their decision, with the counters on the board after six hours. */
select v.gall_id, v.post_no, v.decided_at, r.views, r.comment_cnt as comments, r.up, r.down,
  s.* exclude (cycle_id, cycle_time, gall_id, post_no, entered_cycle_id, status, reason, score, rank,
    p_views, p_comments, p_up, downvote_share, model_version, weights_version, day)
from scores s
  join visits v using (gall_id, post_no, entered_cycle_id)
  join outcomes o on o.gall_id = v.gall_id and o.post_no = v.post_no and o.placed_at = v.decided_at
  join outcome_readings r using (placement_id)
where s.status = 'scored' and s.cycle_time < v.decided_at and minute(s.cycle_time) % 30 = 0
  and r.age_h = 6 and r.views is not null
order by v.decided_at, v.gall_id, v.post_no, s.cycle_time
