/**
 * Cycles as values, made without the contract's validators: these scripts run uncompiled.
 */
import { cycleBoundaryMs, cycleIdOf, formatInstant } from '../../src/contract/time.js'
import type { CycleRequest } from '../../src/contract/wire.js'

/** 1 March 2024, 00:00 in KST. */
const epochMs = Date.UTC(2024, 1, 29, 15)

/** A valid cycle with one new post, its reading and its snapshot. `views` of the reading as given. */
export function cycleOf(index: number, gallId: string, views = 1000): CycleRequest {
  const ms = epochMs + index * cycleBoundaryMs
  const key = { gall_id: gallId, post_no: 1 + index }
  const at = formatInstant(ms - 20_000)
  return {
    cycle_id: cycleIdOf(ms),
    cycle_time: formatInstant(ms),
    candidates: [
      {
        ...key,
        title: '제목 ㅋㅋ',
        created_at: formatInstant(ms - 3_600_000),
        extracted_at: formatInstant(ms - 600_000),
        source: 'score',
        manual_flag: 0,
        images_in_post: 2,
        image_positions: [1, 2],
        body_html: '<p>본문</p>',
        gallery_type: 'main',
        category_id: 7,
      },
    ],
    engagement: [
      { ...key, observed_at: at, status: 'ok', views, up: 10, down: 1, comment_cnt: 20, rtb_vote: 2 },
    ],
    candidate_scores: [{ ...key, snapshot_at: at, hit_cnt: 5, hit_cnt_m: null, memo_size: 100 }],
    removals: [],
  }
}
