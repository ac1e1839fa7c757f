/**
 * The client of the failover test: it sends cycles, images, weights and outcomes through the load balancer, repeats each call
 * until it is acknowledged, and then holds the service to what it has acknowledged.
 */
import { createHash } from 'node:crypto'
import http from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { CycleRequest, CycleResponse } from '../../src/contract/index.js'
import { candidate, cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import { smallJpeg } from '../helpers/jpegs.js'

export interface Reply {
  readonly status: number
  readonly text: string
}

const postsMax = 40

/** Post n enters with cycle n, and stays pending for 40 cycles. */
function bodyOf(index: number): CycleRequest {
  const first = Math.max(0, index - postsMax + 1)
  const posts = Array.from({ length: index - first + 1 }, (_, i) => first + i)
  return cycleBody(index, {
    candidates: [candidate('g', index + 1)],
    engagement: posts.map((post) => reading('g', post + 1, cycleMs(index))),
    removals:
      first === 0
        ? []
        : [{ gall_id: 'g', post_no: first, reason: 'hidden', decided_at: cycleBody(index).cycle_time }],
  })
}

export class Client {
  /** Of acknowledged cycles, by index. */
  readonly responses: string[] = []
  /** Of acknowledged images, by number of the post. */
  readonly images: string[] = []
  outcomes = 0
  weights = 0
  /** The longest time from the first attempt of a call to its acknowledgement. */
  waitedMsMax = 0
  #isOver = false
  #problem: Error | null = null
  #working: Promise<void> = Promise.resolve()
  readonly #port: number
  readonly #key: string

  constructor(port: number, key: string) {
    this.#port = port
    this.#key = key
  }

  begin(): void {
    this.#isOver = false
    this.#working = this.#work().catch((error: unknown) => {
      this.#problem = error as Error
    })
  }

  /** Throws the first violation. */
  throwProblem(): void {
    if (this.#problem !== null) throw this.#problem
  }

  /** Resolves when the last call is acknowledged. Rejects with the first violation. */
  async end(): Promise<void> {
    this.#isOver = true
    await this.#working
    this.throwProblem()
  }

  async #work(): Promise<void> {
    while (!this.#isOver) {
      const index = this.responses.length
      this.responses.push(await this.cycle(index))
      if (index % 3 === 0) {
        const { status } = await this.putImage(this.images.length)
        if (status !== 201 && status !== 200) throw new Error(`image: ${status}`)
        this.images.push(String(status))
      }
      if (index % 5 === 0) {
        await this.acknowledged(
          'POST',
          '/v1/outcomes',
          JSON.stringify({ outcomes: [outcome(this.outcomes)] }),
        )
        this.outcomes++
      }
      if (index % 20 === 0) {
        await this.setWeights(this.weights)
        this.weights++
      }
      await delay(20)
    }
  }

  async cycle(index: number): Promise<string> {
    const { status, text } = await this.acknowledged('POST', '/v1/cycles', JSON.stringify(bodyOf(index)))
    if (status !== 200) throw new Error(`cycle ${index}: ${status} ${text}`)
    return text
  }

  setWeights(number: number): Promise<Reply> {
    const weights = {
      version: `w${number}`,
      weights: { views: number + 1, comments: 0, up: 0, downvote_share: 0 },
    }
    return this.acknowledged('PUT', '/v1/weights', JSON.stringify(weights))
  }

  async putImage(number: number): Promise<Reply> {
    return this.acknowledged(
      'PUT',
      `/v1/images/g/${number + 1}/01`,
      await smallJpeg(number % 200),
      'image/jpeg',
    )
  }

  /** Throws what contradicts an acknowledgement. */
  async check(): Promise<void> {
    for (const [index, text] of this.responses.entries()) {
      const again = await this.cycle(index)
      if (again !== text)
        throw new Error(`cycle ${index} has another response than the one that was acknowledged`)
      const { results, model_version } = JSON.parse(text) as CycleResponse
      const [first] = this.responses
      const expected = (JSON.parse(first ?? text) as CycleResponse).model_version
      if (model_version !== expected) throw new Error(`cycle ${index} has another label`)
      if (results.length !== Math.min(index + 1, postsMax)) throw new Error(`cycle ${index} lacks posts`)
    }
    for (const number of this.images.keys()) {
      const { status } = await this.putImage(number)
      if (status !== 200) throw new Error(`image ${number} was acknowledged, and is ${status} now`)
    }
    if (this.outcomes > 0) {
      const outcomes = Array.from({ length: this.outcomes }, (_, number) => outcome(number))
      const { text } = await this.acknowledged('POST', '/v1/outcomes', JSON.stringify({ outcomes }))
      const { created } = JSON.parse(text) as { created: number }
      if (created > 0) throw new Error(`${created} outcomes were acknowledged, and are lost`)
    }
    if (this.weights > 0) {
      const { text } = await this.acknowledged('GET', '/v1/weights')
      const { current } = JSON.parse(text) as { current: { version: string } }
      if (current.version !== `w${this.weights - 1}`) throw new Error(`the weights are ${current.version}`)
    }
  }

  /** Repeats a call until its response is not 503. */
  async acknowledged(
    method: string,
    path: string,
    body?: string | Uint8Array,
    type = 'application/json',
  ): Promise<Reply> {
    const startedAt = performance.now()
    for (;;) {
      const reply = await this.#call(method, path, body, type).catch(() => null)
      if (reply !== null && reply.status !== 503 && reply.status !== 502 && reply.status !== 504) {
        this.waitedMsMax = Math.max(this.waitedMsMax, performance.now() - startedAt)
        return reply
      }
      if (performance.now() - startedAt > 120_000)
        throw new Error(`${method} ${path} was not answered for two minutes`)
      await delay(100)
    }
  }

  #call(method: string, path: string, body: string | Uint8Array | undefined, type: string): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const headers = {
        Authorization: this.#key,
        ...(body === undefined ? {} : { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) }),
      }
      const request = http.request(
        { host: '127.0.0.1', port: this.#port, method, path, headers, agent: false, timeout: 15_000 },
        (response) => {
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('error', reject)
          response.on('end', () =>
            resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
          )
        },
      )
      request.on('timeout', () => request.destroy(new Error('no answer')))
      request.on('error', reject)
      request.end(body)
    })
  }
}

function outcome(number: number): object {
  const placementId = createHash('sha256').update(String(number)).digest('hex').slice(0, 16)
  return {
    ...{ placement_id: placementId, gall_id: 'g', post_no: number + 1, tier: 'main' },
    ...{ placed_at: cycleBody(0).cycle_time, picked_by: { type: 'operator' } },
  }
}
