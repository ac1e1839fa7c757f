/**
 * The client of the crash tests: cycles, repeated posts, images, outcomes and weights, all from one seed. It records
 * everything that was acknowledged, and repeats requests without a response after the restart, as a real client does.
 */
import { createHash } from 'node:crypto'
import { formatInstant, type CycleRequest, type CycleResponse } from '../../src/contract/index.js'
import { Random } from '../harness/rng.js'
import { World } from '../harness/world.js'
import { bytesOf, cycleMs, epochMs } from '../helpers/bodies.js'
import { keyOf, NaivePool } from '../helpers/naive-pool.js'
import type { Reply, Call, Sender } from '../harness/http.js'

/** A record that a 200 or 201 has acknowledged, for the tests that read the disk. */
export type Acknowledged =
  | { readonly kind: 'cycle'; readonly cycleId: string; readonly body: Buffer; readonly response: Buffer }
  | { readonly kind: 'image'; readonly path: string; readonly sha256: Buffer }
  | { readonly kind: 'outcome'; readonly placementId: string; readonly revision: number }
  | { readonly kind: 'weights'; readonly version: string }

export class Violation extends Error {}

interface Operation {
  readonly call: Call
  readonly cycle?: CycleRequest
  readonly acknowledged: (reply: Reply) => Acknowledged
}

/** Only posts in this gallery have images, so that the scores of the others do not depend on when an image arrived. */
export const imageGallery = 'with-images'
const shape = {
  pending: 40,
  turnover: 4,
  snapshotShare: 0.3,
  bodyChars: 4000,
  startMs: epochMs,
  galleries: [
    ['a', 'main'],
    ['b', 'minor'],
    [imageGallery, 'main'],
  ],
  gaps: { titleShare: 0.1, readingShare: 0.1, postShare: 0.05 },
} as const
/** A post has at most this many images. */
const positionMax = 10

export class Load {
  readonly cycles = new Map<string, { request: CycleRequest; body: Buffer; response: Buffer }>()
  readonly images = new Map<string, Buffer>()
  readonly outcomes = new Map<string, { revision: number; record: object }>()
  readonly weights: string[] = []
  responseCount = 0
  resolvedCount = 0
  /** Whether a 503 counts as no response: the request is repeated. */
  mayBeRefused = false
  refusedCount = 0
  readonly #random: Random
  readonly #jpegs: readonly Buffer[]
  readonly #onAcknowledged: (acknowledged: Acknowledged) => void
  readonly #pool = new NaivePool()
  readonly #unacknowledged: Operation[] = []
  readonly #world: World
  readonly #imageCounts = new Map<number, number>()
  #revision = 0

  constructor(
    seed: number,
    jpegs: readonly Buffer[],
    onAcknowledged: (acknowledged: Acknowledged) => void = () => undefined,
  ) {
    this.#random = new Random(seed)
    this.#world = new World(shape, seed)
    this.#jpegs = jpegs
    this.#onAcknowledged = onAcknowledged
  }

  /** Sends one cycle and its images, outcomes and weights in parallel. Returns without an error if the server is down. */
  async step(client: Sender): Promise<void> {
    const random = this.#random
    const operations = [this.#cycle()]
    for (let count = random.below(3); count > 0; count--) operations.push(...this.#image())
    if (random.chance(0.5)) operations.push(this.#outcome())
    if (random.chance(0.2)) operations.push(this.#newWeights())
    await Promise.all(
      operations.map((operation) =>
        this.#perform(client, operation, operation.cycle === undefined ? 1 : 1 + random.below(3)),
      ),
    )
  }

  get unacknowledgedCount(): number {
    return this.#unacknowledged.length
  }

  /** Repeats the requests without a response, in order. */
  async resolve(client: Sender): Promise<void> {
    for (const operation of this.#unacknowledged.splice(0)) {
      await this.#perform(client, operation, 1)
      this.resolvedCount++
    }
  }

  async #perform(client: Sender, operation: Operation, copyCount: number): Promise<void> {
    const { call, cycle, acknowledged } = operation
    const copies = Array.from({ length: copyCount }, () => client.send(call))
    const replies = (await Promise.all(copies)).filter(
      (reply): reply is Reply => reply !== null && !this.#isRefusal(reply),
    )
    const [first] = replies
    if (first === undefined) {
      this.#unacknowledged.push(operation)
      return
    }
    for (const { status, body } of replies) {
      if (status !== 200 && status !== 201)
        throw new Violation(`${call.method} ${call.path} got ${status}: ${body.toString()}`)
      if (cycle !== undefined && !body.equals(first.body))
        throw new Violation(`${cycle.cycle_id} got two different responses`)
    }
    this.responseCount += replies.length
    const acknowledgement = acknowledged(first)
    this.#record(operation, acknowledgement)
    this.#onAcknowledged(acknowledgement)
  }

  #isRefusal({ status }: Reply): boolean {
    if (!this.mayBeRefused || status !== 503) return false
    this.refusedCount++
    return true
  }

  #record({ call, cycle }: Operation, acknowledged: Acknowledged): void {
    if (cycle !== undefined && acknowledged.kind === 'cycle') {
      const { body, response } = acknowledged
      this.cycles.set(cycle.cycle_id, { request: cycle, body, response })
      this.#compare(cycle, response)
    }
    if (acknowledged.kind === 'image') this.images.set(call.path, call.body as Buffer)
    if (acknowledged.kind === 'outcome') {
      const { outcomes } = JSON.parse(String(call.body)) as { outcomes: [object] }
      this.outcomes.set(acknowledged.placementId, { revision: acknowledged.revision, record: outcomes[0] })
    }
    if (acknowledged.kind === 'weights') this.weights.push(acknowledged.version)
  }

  /** The server's pool equals the oracle's if every cycle has the oracle's results. */
  #compare(cycle: CycleRequest, response: Buffer): void {
    const { results } = JSON.parse(response.toString()) as CycleResponse
    const found = results.map((row) => `${keyOf(row)} ${row.status} ${row.reason ?? ''}`)
    const expected = this.#pool.apply(cycle).map((row) => `${row.post} ${row.status} ${row.reason ?? ''}`)
    if (found.join('\n') !== expected.join('\n'))
      throw new Violation(
        `${cycle.cycle_id}: results\n${found.join('\n')}\nand those of the oracle\n${expected.join('\n')}`,
      )
  }

  // ---- what is sent

  #cycle(): Operation {
    const request = this.#world.nextRequest()
    const body = bytesOf(request)
    const cycleId = request.cycle_id
    return {
      call: { method: 'POST', path: '/v1/cycles', body },
      cycle: request,
      acknowledged: (reply) => ({ kind: 'cycle', cycleId, body, response: reply.body }),
    }
  }

  /** The next image of a pending post; none if it has all. */
  #image(): Operation[] {
    const body = this.#random.pick(this.#jpegs)
    const posts = this.#world.pending.filter(({ gall_id }) => gall_id === imageGallery)
    if (posts.length === 0) return []
    const { post_no } = this.#random.pick(posts)
    const position = (this.#imageCounts.get(post_no) ?? 0) + 1
    if (position > positionMax) return []
    this.#imageCounts.set(post_no, position)
    const path = `/v1/images/${imageGallery}/${post_no}/${String(position).padStart(2, '0')}`
    const sha256 = createHash('sha256').update(body).digest()
    return [{ call: { method: 'PUT', path, body }, acknowledged: () => ({ kind: 'image', path, sha256 }) }]
  }

  /** A new placement, or a record that replaces an earlier one. */
  #outcome(): Operation {
    const revision = ++this.#revision
    const placementId =
      this.outcomes.size > 0 && this.#random.chance(0.3)
        ? this.#random.pick([...this.outcomes.keys()])
        : `placement-${revision}`
    const record = {
      placement_id: placementId,
      gall_id: 'a',
      post_no: revision,
      tier: 'main',
      placed_at: formatInstant(cycleMs(0)),
      picked_by: { type: 'operator' },
      views_at_placement: revision,
      readings: [],
    }
    return {
      call: { method: 'POST', path: '/v1/outcomes', body: bytesOf({ outcomes: [record] }) },
      acknowledged: () => ({ kind: 'outcome', placementId, revision }),
    }
  }

  #newWeights(): Operation {
    const version = `weights-${++this.#revision}`
    const weights = { views: 1 + this.#random.below(9), comments: 0.3, up: 0.3, downvote_share: 0 }
    return {
      call: { method: 'PUT', path: '/v1/weights', body: bytesOf({ version, weights, note: '' }) },
      acknowledged: () => ({ kind: 'weights', version }),
    }
  }
}
