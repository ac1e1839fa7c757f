/**
 * What happens in each cycle: posts enter, counters grow, operators decide. Pure: the same identity and start give the
 * same cycles, whatever the service responds.
 */
import { minuteMs, secondMs } from '../base/index.js'
import {
  cycleBoundaryMs,
  cycleIdOf,
  type Candidate,
  type CandidateScoreRow,
  type CycleRequest,
  type EngagementRow,
  type PostKey,
  type Source,
} from '../contract/index.js'
import {
  entriesOf,
  galleriesOf,
  unknownPostNo,
  type Gallery,
  type PostEntry,
  type WorldIdentity,
} from './entries.js'
import { bodyHtml, titleText, topicOf } from './korean-text.js'
import { baseImageCount, type Upload } from './base-images.js'
import { keyOf } from './ledger.js'
import {
  dateTime,
  drawDeparture,
  drawGrowth,
  kst,
  readingOf,
  removalOf,
  snapshotOf,
  unknownReading,
  type QueuedPost,
} from './posts.js'
import { Rng } from './rng.js'

const sources: readonly Source[] = ['score', 'setting', 'keyword', 'vote', 'manual', 'unknown']

/** Everything that a client does in one cycle. */
export interface CyclePlan {
  /** Zero-based. */
  readonly index: number
  readonly cycleAtMs: number
  readonly request: CycleRequest
  /** Images sent before the call that contains their posts. */
  readonly uploadsBefore: readonly Upload[]
  readonly uploadsAfter: readonly Upload[]
  /** Images that were sent before. */
  readonly uploadsAgain: readonly Upload[]
  /** Posts that operators have placed on a board; they have a tier. */
  readonly placed: readonly QueuedPost[]
}

interface Entry {
  readonly post: QueuedPost
  readonly candidate: Candidate
}

interface ScheduledUpload {
  /** Index of its cycle. */
  readonly sentAt: number
  readonly again: boolean
  readonly upload: Upload
}

/** The posts of a simulation. Its methods are called for one cycle after the other. */
export class World {
  readonly galleries: readonly Gallery[]
  private pending: QueuedPost[] = []
  private cycleIndex = 0
  private readonly entered = new Set<string>()
  private scheduledUploads: ScheduledUpload[] = []

  constructor(
    private readonly identity: WorldIdentity,
    private readonly startAtMs: number,
  ) {
    this.galleries = galleriesOf(identity)
  }

  /** The next cycle; the first one ends five minutes after the start. */
  nextCycle(): CyclePlan {
    const index = this.cycleIndex++
    const cycleAtMs = this.startAtMs + (index + 1) * cycleBoundaryMs
    const rng = this.rngOf('cycle', index)
    const entered = entriesOf(this.identity, this.startAtMs, index).map((entry) =>
      this.enter(entry, cycleAtMs),
    )
    const all = [...this.pending, ...entered.map(({ post }) => post)]
    const leaving = all.filter((post) => post.departure.atMs <= cycleAtMs)
    this.pending = all.filter((post) => post.departure.atMs > cycleAtMs)
    const uploadsBefore = entered.flatMap((entry) => this.planUploads(entry, index))
    const due = this.scheduledUploads.filter(({ sentAt }) => sentAt === index)
    this.scheduledUploads = this.scheduledUploads.filter(({ sentAt }) => sentAt > index)
    return {
      index,
      cycleAtMs,
      request: {
        cycle_id: cycleIdOf(cycleAtMs),
        cycle_time: kst(cycleAtMs),
        candidates: entered.map(({ candidate }) => candidate),
        engagement: this.readPending(rng, cycleAtMs),
        candidate_scores: this.readAdmin(rng, cycleAtMs),
        removals: leaving.map((post) => removalOf(post, cycleAtMs)),
      },
      uploadsBefore,
      uploadsAfter: due.filter(({ again }) => !again).map(({ upload }) => upload),
      uploadsAgain: due.filter(({ again }) => again).map(({ upload }) => upload),
      placed: leaving.filter((post) => post.departure.tier !== undefined),
    }
  }

  /** A cycle after the last one that only removes the pending posts. */
  lastCycle(): CycleRequest {
    const cycleAtMs = this.startAtMs + (this.cycleIndex + 1) * cycleBoundaryMs
    return {
      cycle_id: cycleIdOf(cycleAtMs),
      cycle_time: kst(cycleAtMs),
      candidates: [],
      engagement: [],
      candidate_scores: [],
      removals: this.pending.map((post) =>
        removalOf({ ...post, departure: { reason: 'aged_out', atMs: cycleAtMs } }, cycleAtMs),
      ),
    }
  }

  /** Whether a post has entered in this simulation so far. */
  has(post: PostKey): boolean {
    return this.entered.has(keyOf(post))
  }

  private rngOf(...labels: readonly (string | number)[]): Rng {
    return new Rng(this.identity.seed, this.startAtMs, ...labels)
  }

  // ---- entries

  private enter({ gallery, postNo }: PostEntry, cycleAtMs: number): Entry {
    this.entered.add(keyOf({ gall_id: gallery.id, post_no: postNo }))
    const rng = this.rngOf('post', postNo)
    const extractedAtMs = cycleAtMs - rng.int(1, cycleBoundaryMs - 1)
    const growth = drawGrowth(rng, extractedAtMs - Math.round((3 + 90 * rng.next() ** 2) * minuteMs))
    // Some posts are deleted before the client's next call, which then contains both candidate and removal.
    const leavesAtOnce = rng.chance(0.002)
    const departure = leavesAtOnce
      ? { reason: 'deleted' as const, atMs: cycleAtMs }
      : drawDeparture(rng, growth, extractedAtMs)
    const post = {
      gallId: gallery.id,
      postNo,
      growth,
      departure,
      mappedFromMs: rng.chance(0.01) ? cycleAtMs + rng.int(1, 4) * cycleBoundaryMs : 0,
      missingFromMs: departure.reason === 'deleted' ? departure.atMs - rng.int(0, 20) * minuteMs : Infinity,
    }
    return { post, candidate: this.candidate(rng, gallery, post, extractedAtMs) }
  }

  private candidate(rng: Rng, gallery: Gallery, post: QueuedPost, extractedAtMs: number): Candidate {
    const topic = topicOf(gallery.id)
    const imageCount = rng.chance(0.4) ? 0 : Math.min(20, 1 + Math.floor(-2 * Math.log(1 - rng.next())))
    const source = sources[rng.weighted([50, 15, 12, 15, 5, 3])]!
    const createdAtMs = Math.floor(post.growth.createdAtMs / secondMs) * secondMs
    const withImages = imageCount > 0 && rng.chance(this.identity.imageShare)
    // Null times and blank titles are rare, and the service must accept them.
    const rare = rng.next()
    return {
      gall_id: gallery.id,
      post_no: post.postNo,
      title: rare < 0.004 ? '' : rare < 0.006 ? '  ' : titleText(rng, topic),
      created_at: rare > 0.995 ? null : dateTime(rng, createdAtMs),
      extracted_at: rare > 0.991 && rare < 0.997 ? null : dateTime(rng, extractedAtMs),
      source,
      manual_flag: source === 'manual' ? 1 : 0,
      images_in_post: imageCount,
      ...(withImages && { image_positions: positionsWithGaps(rng, imageCount) }),
      ...(rng.chance(0.97) && { body_html: bodyHtml(rng, topic, { charsAim: charsAim(rng), imageCount }) }),
      ...(rng.chance(0.95) && { gallery_type: gallery.type }),
      ...(gallery.categoryId !== null && { category_id: gallery.categoryId }),
    }
  }

  /** The images of a post that are sent before its candidate. The others are scheduled for this cycle or a later one. */
  private planUploads({ post: { gallId, postNo }, candidate }: Entry, index: number): Upload[] {
    const rng = this.rngOf('images', gallId, postNo)
    return (candidate.image_positions ?? []).flatMap((position) => {
      if (rng.chance(0.05)) return []
      const baseImage = rng.int(0, baseImageCount - 1)
      const upload = { gallId, postNo, position, baseImage, comment: `${gallId}/${postNo}/${position}` }
      const ahead = rng.chance(0.4)
      const sentAt = index + (ahead ? 0 : rng.weighted([80, 15, 5]))
      if (!ahead) this.scheduledUploads.push({ sentAt, again: false, upload })
      if (rng.chance(0.04))
        this.scheduledUploads.push({ sentAt: sentAt + rng.int(0, 3), again: true, upload })
      return ahead ? [upload] : []
    })
  }

  // ---- readings

  private readPending(rng: Rng, cycleAtMs: number): EngagementRow[] {
    const observedAtMs = cycleAtMs - rng.int(4, 45) * secondMs - rng.int(0, 999)
    const skippedCount = rng.chance(0.08) ? rng.int(0, Math.max(0, this.pending.length - 1)) : -1
    const rows = this.pending
      .filter((_post, at) => at !== skippedCount)
      .map((post) => readingOf(rng, post, observedAtMs))
    // A post that is unknown to the service, such as one whose candidate the client lost.
    if (rng.chance(0.03)) {
      const key = { gall_id: rng.pick(this.galleries).id, post_no: unknownPostNo(cycleAtMs) }
      const unknownRow = unknownReading(rng, { ...key, observed_at: kst(observedAtMs) })
      rows.splice(rng.int(0, rows.length), 0, unknownRow)
    }
    return rng.chance(0.1) ? rows.reverse() : rows
  }

  private readAdmin(rng: Rng, cycleAtMs: number): CandidateScoreRow[] {
    const share = rng.chance(0.25) ? 0.15 : 0.005
    const snapshotAtMs = cycleAtMs - rng.int(10, 200) * secondMs
    return this.pending.filter(() => rng.chance(share)).map((post) => snapshotOf(rng, post, snapshotAtMs))
  }
}

/** Half of the bodies have a few lines, some have several kB. */
function charsAim(rng: Rng): number {
  const kind = rng.weighted([45, 40, 12, 3])
  return [rng.int(1, 60), rng.int(60, 400), rng.int(400, 1500), rng.int(1500, 4000)][kind]!
}

/** One-based positions of the images that the client could download. */
function positionsWithGaps(rng: Rng, count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1).filter(() => rng.chance(0.85))
}
