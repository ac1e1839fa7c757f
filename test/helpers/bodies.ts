/**
 * Builders of cycle bodies for tests: plain objects of the wire types, complete and valid by default.
 */
import { cycleBoundaryMs, cycleIdOf, formatInstant } from '../../src/contract/index.js'
import type {
  Candidate,
  CandidateScoreRow,
  CycleRequest,
  EngagementRow,
  Removal,
} from '../../src/contract/index.js'

/** 1 March 2024, 00:00 in KST. */
export const epochMs = Date.UTC(2024, 1, 29, 15)

/** Time of the cycle that is `index` cycles after `epochMs`. */
export function cycleMs(index: number): number {
  return epochMs + index * cycleBoundaryMs
}

export function candidate(gallId: string, postNo: number, over: Partial<Candidate> = {}): Candidate {
  return {
    gall_id: gallId,
    post_no: postNo,
    title: `제목 ${postNo} ㅋㅋ`,
    created_at: formatInstant(epochMs - 3_600_000),
    extracted_at: formatInstant(epochMs - 600_000),
    source: 'score',
    manual_flag: 0,
    images_in_post: 0,
    ...over,
  }
}

export function reading(
  gallId: string,
  postNo: number,
  atMs: number,
  over: Partial<EngagementRow> = {},
): EngagementRow {
  return {
    gall_id: gallId,
    post_no: postNo,
    observed_at: formatInstant(atMs),
    status: 'ok',
    views: 1000,
    up: 10,
    down: 1,
    comment_cnt: 20,
    rtb_vote: 2,
    ...over,
  }
}

export function snapshot(
  gallId: string,
  postNo: number,
  atMs: number,
  over: Partial<CandidateScoreRow> = {},
): CandidateScoreRow {
  return { gall_id: gallId, post_no: postNo, snapshot_at: formatInstant(atMs), ...over }
}

export function removal(gallId: string, postNo: number, over: Partial<Removal> = {}): Removal {
  return {
    gall_id: gallId,
    post_no: postNo,
    reason: 'hidden',
    decided_at: formatInstant(epochMs),
    ...over,
  }
}

/** The cycle with index `index`; lists that are not given are empty. */
export function cycleBody(index: number, parts: Partial<CycleRequest> = {}): CycleRequest {
  const ms = cycleMs(index)
  return {
    cycle_id: cycleIdOf(ms),
    cycle_time: formatInstant(ms),
    candidates: [],
    engagement: [],
    candidate_scores: [],
    removals: [],
    ...parts,
  }
}

export function bytesOf(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value))
}
