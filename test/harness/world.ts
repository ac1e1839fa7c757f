/**
 * Deterministic cycles for the bench and for tests under load: the same posts over successive five-minute cycles, with counters that
 * only grow. The first cycles (the ramp) fill the pool; each later one adds and removes the number of posts in the shape.
 */
import type {
  Candidate,
  CandidateScoreRow,
  CycleRequest,
  EngagementRow,
  PostKey,
  Removal,
} from '../../src/contract/index.js'
import { kstOffsetMs } from '../../src/contract/time.js'
import { Rng } from '../../src/simulator/rng.js'
import { TextCorpus } from './texts.js'

export interface WorldShape {
  /** Posts that are pending from the last ramp cycle on. */
  readonly pending: number
  /** Posts that enter, and posts that leave, in each cycle after the ramp. */
  readonly turnover: number
  /** Of the pending posts: those with an admin snapshot in a cycle. */
  readonly snapshotShare: number
  /** Mean length of a post's body, in characters. */
  readonly bodyChars: number
  /** After the ramp, new posts get longer bodies so that a request has exactly this many bytes. */
  readonly requestBytes?: number
  /** Time of the first cycle. */
  readonly startMs?: number
  /** Default: those of a real site. */
  readonly galleries?: readonly Gallery[]
  /** What clients leave out; absent: nothing. */
  readonly gaps?: Gaps
}

type Gallery = readonly [id: string, type: 'main' | 'minor' | 'mini']

export interface Gaps {
  /** Of the new posts: those with an empty title. */
  readonly titleShare: number
  /** Of the pending posts: those without a reading in a cycle. */
  readonly readingShare: number
  /** Of the readings: those that did not find the post. */
  readonly postShare: number
}

export interface WorldCycle {
  readonly cycleId: string
  readonly request: Buffer
  /** The expected `counts` of the response, with all results scored. */
  readonly counts: {
    readonly candidates: number
    readonly engagement: number
    readonly candidate_scores: number
    readonly removals: number
  }
}

/** Cycles that fill the pool, in equal parts. */
export const rampCycleCount = 5

const cycleMs = 300_000
/** A time in the past: a Monday, 09:00 in Korea. */
const defaultStartMs = Date.UTC(2025, 2, 3)
const nullShareOfSnapshots = 0.1

const defaultGalleries: readonly Gallery[] = [
  ['programming', 'main'],
  ['baseball_new11', 'main'],
  ['leagueoflegends6', 'main'],
  ['stockus', 'minor'],
  ['cat', 'main'],
  ['thesingularity', 'minor'],
  ['hit', 'main'],
  ['food_cook', 'minor'],
  ['mountain_hike', 'mini'],
]
const noGaps: Gaps = { titleShare: 0, readingShare: 0, postShare: 0 }

const snapshotCounters = ['recommend_up_cnt', 'comment_cnt', 'hit_cnt', 'sitebest_cnt'] as const
const snapshotParts = ['', '_m', '_a'] as const

interface Post {
  readonly gall_id: string
  readonly post_no: number
  /** Mean number of views that the post gains per cycle. */
  readonly viewsPerCycle: number
  views: number
  up: number
  down: number
  comments: number
  rtb: number
}

/** An endless sequence. The same shape and seed give the same bytes. */
export function* worldCycles(shape: WorldShape, seed = 1): Generator<WorldCycle, never> {
  const world = new World(shape, seed)
  for (;;) yield world.next()
}

export class World {
  readonly #shape: WorldShape
  readonly #rng: Rng
  readonly #texts: TextCorpus
  #pending: Post[] = []
  #postNoLast = 7_310_000
  #cycle = 0

  constructor(shape: WorldShape, seed: number) {
    this.#shape = shape
    this.#rng = new Rng('bench world', seed)
    this.#texts = new TextCorpus(seed)
  }

  /** The posts that are pending after the last cycle. */
  get pending(): readonly PostKey[] {
    return this.#pending
  }

  next(): WorldCycle {
    const request = this.nextRequest()
    return {
      cycleId: request.cycle_id,
      request: Buffer.from(JSON.stringify(this.#cycle <= rampCycleCount ? request : this.#filled(request))),
      counts: {
        candidates: request.candidates.length,
        engagement: request.engagement.length,
        candidate_scores: request.candidate_scores.length,
        removals: request.removals.length,
      },
    }
  }

  nextRequest(): CycleRequest {
    const { startMs = defaultStartMs, gaps = noGaps, snapshotShare } = this.#shape
    const atMs = startMs + this.#cycle * cycleMs
    const rampLeft = rampCycleCount - this.#cycle
    const removals = rampLeft > 0 ? [] : this.#leave(atMs)
    const missing = this.#shape.pending - this.#pending.length
    const enterCount = rampLeft > 0 ? Math.ceil(missing / rampLeft) : missing
    const candidates = Array.from({ length: enterCount }, () => this.#enter(atMs))
    for (const post of this.#pending) this.#advance(post)
    const observedAt = kstTime(atMs - 20_000)
    const read = this.#pending.filter(() => !this.#happens(gaps.readingShare))
    this.#cycle++
    return {
      cycle_id: cycleIdOf(atMs),
      cycle_time: kstTime(atMs),
      candidates,
      engagement: read.map((post) => {
        const row = reading(post, observedAt)
        return this.#happens(gaps.postShare) ? { ...row, status: 'missing' } : row
      }),
      candidate_scores: read
        .filter(() => this.#happens(snapshotShare))
        .map((post) => this.#snapshot(post, observedAt)),
      removals,
    }
  }

  /** Certain events draw no random number, so that a shape without them keeps its bytes. */
  #happens(share: number): boolean {
    return share >= 1 || (share > 0 && this.#rng.chance(share))
  }

  #leave(atMs: number): Removal[] {
    return this.#pending.splice(0, this.#shape.turnover).map(({ gall_id, post_no }) => {
      const key = { gall_id, post_no, decided_at: kstTime(atMs - this.#rng.int(1, 290) * 1000) }
      const reason = this.#rng.weighted([70, 15, 10, 5])
      if (reason === 1) return { ...key, reason: 'saved', tier: 'main' }
      return { ...key, reason: reason === 0 ? 'aged_out' : reason === 2 ? 'deleted' : 'hidden' }
    })
  }

  #enter(atMs: number): Candidate {
    const rng = this.#rng
    const { galleries = defaultGalleries, gaps = noGaps, bodyChars } = this.#shape
    const [gall_id, gallery_type] = rng.pick(galleries)
    const post_no = (this.#postNoLast += rng.int(1, 9))
    this.#pending.push({
      gall_id,
      post_no,
      viewsPerCycle: Math.exp(3 + 1.4 * rng.normal()),
      views: rng.int(20, 4000),
      up: rng.int(0, 120),
      down: rng.int(0, 12),
      comments: rng.int(0, 60),
      rtb: rng.int(0, 6),
    })
    const imageCount = rng.int(0, 6)
    return {
      gall_id,
      post_no,
      title: this.#happens(gaps.titleShare) ? '' : this.#texts.title(rng),
      created_at: kstTime(atMs - rng.int(360, 7200) * 1000),
      extracted_at: kstTime(atMs - rng.int(20, 300) * 1000),
      source: rng.pick(['score', 'score', 'setting', 'keyword', 'vote', 'manual']),
      manual_flag: 0,
      images_in_post: imageCount,
      image_positions: Array.from({ length: imageCount }, (_, index) => index + 1),
      body_html: this.#texts.body(rng, bodyChars * (0.3 + 1.3 * rng.next())),
      gallery_type,
      category_id: rng.int(1, 120),
    }
  }

  #advance(post: Post): void {
    const rng = this.#rng
    const views = Math.round(post.viewsPerCycle * 2 * rng.next())
    post.views += views
    post.up += Math.round(views * 0.04 * rng.next())
    post.down += rng.next() < 0.1 ? 1 : 0
    post.comments += Math.round(views * 0.03 * rng.next())
    post.rtb += rng.next() < 0.15 ? 1 : 0
  }

  #snapshot({ gall_id, post_no }: Post, snapshot_at: string): CandidateScoreRow {
    const rng = this.#rng
    const row: Record<string, string | number | null> = { gall_id, post_no, snapshot_at }
    for (const counter of snapshotCounters) {
      for (const part of snapshotParts) {
        row[counter + part] = rng.next() < nullShareOfSnapshots ? null : rng.int(0, 5000)
      }
    }
    row.memo_size = rng.int(0, 10_000)
    row.upimg_cnt = rng.int(0, 20)
    row.upimg_height = rng.int(0, 32_767)
    return row as unknown as CandidateScoreRow
  }

  /** The request with text added to its new posts, so that it has `requestBytes` bytes. */
  #filled(request: CycleRequest): CycleRequest {
    const { requestBytes } = this.#shape
    if (requestBytes === undefined) return request
    const missing = requestBytes - Buffer.byteLength(JSON.stringify(request))
    const count = request.candidates.length
    if (missing < 0 || count === 0) throw new Error(`a request cannot be made ${requestBytes} bytes long`)
    const share = Math.floor(missing / count)
    const candidates = request.candidates.map((candidate, index) => {
      const bytes = index === 0 ? missing - share * (count - 1) : share
      return { ...candidate, body_html: (candidate.body_html ?? '') + this.#texts.filling(this.#rng, bytes) }
    })
    return { ...request, candidates }
  }
}

function reading(post: Post, observed_at: string): EngagementRow {
  return {
    gall_id: post.gall_id,
    post_no: post.post_no,
    observed_at,
    status: 'ok',
    views: post.views,
    up: post.up,
    // Some galleries have no down-votes.
    down: post.gall_id === 'cat' ? null : post.down,
    comment_cnt: post.comments,
    rtb_vote: post.rtb,
  }
}

function kstTime(ms: number): string {
  return `${new Date(ms + kstOffsetMs).toISOString().slice(0, 19)}+09:00`
}

function cycleIdOf(ms: number): string {
  return kstTime(ms).slice(0, 16).replaceAll(/[-:]/g, '')
}
