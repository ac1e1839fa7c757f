/**
 * The worker thread of cycle-generator.ts: makes the bodies of cycles and checks their responses, in memory that it shares
 * with the sending thread. It works only on request; the sender waits for V8's background threads too (idle.ts).
 */
import { parentPort, workerData } from 'node:worker_threads'
import { messageOf } from '../src/base/index.js'
import { parseResponse, type CycleFacts } from './check.js'
import { worldCycles, type WorldShape } from '../test/harness/world.js'

export interface GeneratorPlan {
  readonly shape: WorldShape
  /** Receives the body of each cycle. */
  readonly request: SharedArrayBuffer
  /** Contains the response to check. */
  readonly response: SharedArrayBuffer
}

export type GeneratorTask =
  | { readonly kind: 'make' }
  | { readonly kind: 'check'; readonly cycle: CycleFacts; readonly at: number; readonly byteLength: number }

export type GeneratorReply =
  | { readonly kind: 'made'; readonly cycle: CycleFacts; readonly byteLength: number }
  | { readonly kind: 'correct'; readonly modelVersion: string }
  | { readonly kind: 'wrong'; readonly reason: string }

const { shape, request, response } = workerData as GeneratorPlan
const requestBytes = new Uint8Array(request)
const world = worldCycles(shape)

parentPort?.on('message', (task: GeneratorTask) => {
  parentPort?.postMessage(task.kind === 'make' ? make() : check(task))
})

function make(): GeneratorReply {
  const { request: body, ...cycle } = world.next().value
  requestBytes.set(body)
  return { kind: 'made', cycle, byteLength: body.length }
}

function check({ cycle, at, byteLength }: Extract<GeneratorTask, { kind: 'check' }>): GeneratorReply {
  try {
    const { model_version } = parseResponse(cycle, Buffer.from(response, at, byteLength))
    return { kind: 'correct', modelVersion: model_version }
  } catch (error) {
    return { kind: 'wrong', reason: messageOf(error) }
  }
}
