/**
 * Cycles that are made, and whose answers are checked, in another thread with a heap of its own, so that the thread that
 * sends them and takes their times leaves no garbage. Bodies and answers lie in memory that both share.
 */
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { jsonBodyBytesMax } from '../src/contract/limits.js'
import { expectStatus, type Address } from './client.js'
import type { MakerAnswer, MakerPlan, MakerTask } from './maker-thread.js'
import { projectDir } from './project.js'
import { quiet } from './quiet.js'
import { answerBytesMax, Wire } from './wire.js'
import type { WorldCycle, WorldShape } from './world.js'

/** An answer that was checked. */
export interface CheckedReply {
  /** Valid until the next cycle is posted. */
  readonly response: Buffer
  readonly tookMs: number
  readonly modelVersion: string
}

/** Runs `use` with a maker of the cycles of a shape, which ends with it. */
export async function withMaker<Result>(
  shape: WorldShape,
  use: (maker: CycleMaker) => Promise<Result>,
): Promise<Result> {
  const maker = new CycleMaker(shape)
  try {
    return await use(maker)
  } finally {
    await maker.close()
  }
}

export class CycleMaker {
  readonly #request = new SharedArrayBuffer(jsonBodyBytesMax)
  readonly #answer = Buffer.from(new SharedArrayBuffer(answerBytesMax))
  readonly #worker: Worker
  readonly #wires: Wire[] = []
  #settle: { resolve: (answer: MakerAnswer) => void; reject: (error: Error) => void } | null = null
  #ended: Error | null = null

  constructor(shape: WorldShape) {
    const answer = this.#answer.buffer
    this.#worker = new Worker(join(projectDir, 'bench', 'maker-thread.ts'), {
      workerData: { shape, request: this.#request, answer } satisfies MakerPlan,
      execArgv: ['--import', join(projectDir, 'bench', 'typescript.mjs')],
    })
    this.#worker.on('message', (answer: MakerAnswer) => {
      this.#settle?.resolve(answer)
      this.#settle = null
    })
    this.#worker.once('error', (error) =>
      this.#end(error instanceof Error ? error : new Error(String(error))),
    )
    this.#worker.once('exit', () => this.#end(new Error('the maker of the cycles has ended')))
  }

  /** The next cycle of the shape. Its body is valid until the one after it is made. */
  async next(): Promise<WorldCycle> {
    const made = await this.#ask({ kind: 'make' })
    if (made.kind !== 'made') throw new Error(`the maker answers ${made.kind}`)
    return { ...made.cycle, request: Buffer.from(this.#request, 0, made.byteLength) }
  }

  /** A wire whose answers the maker can check, one at a time. It ends with the maker. */
  wireTo(address: Address): Wire {
    const wire = new Wire(address, this.#answer)
    this.#wires.push(wire)
    return wire
  }

  /** Posts a cycle from a quiet process, and has its answer checked. Throws when it is not the right one. */
  async post(wire: Wire, cycle: WorldCycle): Promise<CheckedReply> {
    const { request, ...facts } = cycle
    await quiet()
    const reply = await wire.post({ path: '/v1/cycles', body: request })
    const response = expectStatus(reply, 200, `POST of cycle ${cycle.cycleId}`)
    const place = { at: response.byteOffset - this.#answer.byteOffset, byteLength: response.length }
    const checked = await this.#ask({ kind: 'check', cycle: facts, ...place })
    if (checked.kind === 'right')
      return { response, tookMs: reply.tookMs, modelVersion: checked.modelVersion }
    throw new Error(checked.kind === 'wrong' ? checked.reason : `the maker answers ${checked.kind}`)
  }

  async close(): Promise<void> {
    for (const wire of this.#wires) wire.close()
    await this.#worker.terminate()
  }

  #ask(task: MakerTask): Promise<MakerAnswer> {
    if (this.#ended !== null) return Promise.reject(this.#ended)
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
      this.#worker.postMessage(task)
    })
  }

  #end(error: Error): void {
    // The first reason is the one that tells.
    this.#ended ??= error
    this.#settle?.reject(this.#ended)
    this.#settle = null
  }
}
