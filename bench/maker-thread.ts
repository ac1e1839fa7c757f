/**
 * Makes the bodies of cycles and checks their answers, in memory that it shares with the thread that sends. Works only
 * when asked; what V8 does behind that, the sender waits for (quiet.ts). Started by maker.ts.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { checkAnswer, type CycleFacts } from './check.js'
import { worldCycles, type WorldShape } from './world.js'

export interface MakerPlan {
  readonly shape: WorldShape
  /** The body of the cycle that was made last. */
  readonly request: SharedArrayBuffer
  /** The answer that is to be checked. */
  readonly answer: SharedArrayBuffer
}

export type MakerTask =
  | { readonly kind: 'make' }
  | { readonly kind: 'check'; readonly cycle: CycleFacts; readonly at: number; readonly byteLength: number }

export type MakerAnswer =
  | { readonly kind: 'made'; readonly cycle: CycleFacts; readonly byteLength: number }
  | { readonly kind: 'right'; readonly modelVersion: string }
  | { readonly kind: 'wrong'; readonly reason: string }

const { shape, request, answer } = workerData as MakerPlan
const requestBytes = new Uint8Array(request)
const world = worldCycles(shape)

parentPort?.on('message', (task: MakerTask) => {
  parentPort?.postMessage(task.kind === 'make' ? make() : check(task))
})

function make(): MakerAnswer {
  const { request: body, ...cycle } = world.next().value
  requestBytes.set(body)
  return { kind: 'made', cycle, byteLength: body.length }
}

function check({ cycle, at, byteLength }: Extract<MakerTask, { kind: 'check' }>): MakerAnswer {
  try {
    const { model_version } = checkAnswer(cycle, Buffer.from(answer, at, byteLength))
    return { kind: 'right', modelVersion: model_version }
  } catch (error) {
    return { kind: 'wrong', reason: error instanceof Error ? error.message : String(error) }
  }
}
