/**
 * Generates cycles and checks their responses in a worker thread with its own heap, so that the thread that sends and times
 * them produces no garbage. Both threads share the memory of bodies and responses.
 */
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { toError } from '../src/base/index.js'
import { jsonBodyBytesMax } from '../src/contract/limits.js'
import { expectStatus, type Address } from '../test/harness/http.js'
import type { GeneratorReply, GeneratorPlan, GeneratorTask } from './cycle-generator-thread.js'
import { projectDir } from './project.js'
import { untilIdle } from './idle.js'
import { responseBytesMax, RawConnection } from './raw-connection.js'
import type { WorldCycle, WorldShape } from '../test/harness/world.js'

/** A response that was checked. */
export interface CheckedReply {
  /** Valid until the next cycle is posted. */
  readonly response: Buffer
  readonly tookMs: number
  readonly modelVersion: string
}

/** Runs `use` with a generator of cycles of a shape, and closes the generator. */
export async function withGenerator<Result>(
  shape: WorldShape,
  use: (generator: CycleGenerator) => Promise<Result>,
): Promise<Result> {
  const generator = new CycleGenerator(shape)
  try {
    return await use(generator)
  } finally {
    await generator.close()
  }
}

export class CycleGenerator {
  readonly #request = new SharedArrayBuffer(jsonBodyBytesMax)
  readonly #response = Buffer.from(new SharedArrayBuffer(responseBytesMax))
  readonly #worker: Worker
  readonly #connections: RawConnection[] = []
  #settle: { resolve: (reply: GeneratorReply) => void; reject: (error: Error) => void } | null = null
  #ended: Error | null = null

  constructor(shape: WorldShape) {
    const response = this.#response.buffer
    this.#worker = new Worker(join(projectDir, 'bench', 'cycle-generator-thread.ts'), {
      workerData: { shape, request: this.#request, response } satisfies GeneratorPlan,
      execArgv: ['--import', join(projectDir, 'bench', 'typescript.mjs')],
    })
    this.#worker.on('message', (reply: GeneratorReply) => {
      this.#settle?.resolve(reply)
      this.#settle = null
    })
    this.#worker.once('error', (error) => this.#end(toError(error)))
    this.#worker.once('exit', () => this.#end(new Error('the cycle generator has ended')))
  }

  /** The next cycle of the shape. Its body is valid until the one after it is made. */
  async next(): Promise<WorldCycle> {
    const made = await this.#call({ kind: 'make' })
    if (made.kind !== 'made') throw new Error(`the cycle generator replied ${made.kind}`)
    return { ...made.cycle, request: Buffer.from(this.#request, 0, made.byteLength) }
  }

  /** Opens a connection whose responses the generator can check, one at a time. `close` closes it too. */
  connectTo(address: Address): RawConnection {
    const connection = new RawConnection(address, this.#response)
    this.#connections.push(connection)
    return connection
  }

  /** Posts a cycle once the process is idle, and checks the response. Throws if it is wrong. */
  async post(connection: RawConnection, cycle: WorldCycle): Promise<CheckedReply> {
    const { request, ...facts } = cycle
    await untilIdle()
    const reply = await connection.post({ path: '/v1/cycles', body: request })
    const response = expectStatus(reply, 200, `POST of cycle ${cycle.cycleId}`)
    const place = { at: response.byteOffset - this.#response.byteOffset, byteLength: response.length }
    const checked = await this.#call({ kind: 'check', cycle: facts, ...place })
    if (checked.kind === 'correct')
      return { response, tookMs: reply.tookMs, modelVersion: checked.modelVersion }
    throw new Error(checked.kind === 'wrong' ? checked.reason : `the cycle generator replied ${checked.kind}`)
  }

  async close(): Promise<void> {
    for (const connection of this.#connections) connection.close()
    await this.#worker.terminate()
  }

  #call(task: GeneratorTask): Promise<GeneratorReply> {
    if (this.#ended !== null) return Promise.reject(this.#ended)
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
      this.#worker.postMessage(task)
    })
  }

  #end(error: Error): void {
    // Keep the first reason.
    this.#ended ??= error
    this.#settle?.reject(this.#ended)
    this.#settle = null
  }
}
