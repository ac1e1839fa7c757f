/**
 * What large bodies are read as, in a thread: its work, and how its answers travel. reading-worker.ts is its
 * entry, reading-thread.ts its owner.
 */
import {
  ServiceError,
  type CycleColumns,
  type ErrorKind,
  type FieldProblem,
  type WeightsRequest,
} from '../contract/index.js'
import { decodeCycle } from './decode-cycle.js'
import { parseOutcomes, parseWeights, type OutcomeRecord } from './parse-records.js'

/** What a body of each kind becomes. */
export interface ReadAs {
  readonly cycle: CycleColumns
  readonly outcomes: readonly OutcomeRecord[]
  readonly weights: WeightsRequest
}

export type BodyKind = keyof ReadAs

/** What the thread is given: a body at the start of memory that goes with it, and comes back with the reply. */
export interface ReadingTask {
  readonly kind: BodyKind
  readonly box: ArrayBuffer
  /** Length of the body. */
  readonly bytes: number
}

/** What comes back. */
export interface ReadingReply {
  readonly answer: ReadingAnswer
  readonly box: ArrayBuffer
  /** Size of the thread's heap. */
  readonly heapBytes: number
}

/** What the thread answers: a value as it travels (`pack`), or the refusal that the client is told. */
export type ReadingAnswer =
  | { readonly value: unknown }
  | {
      readonly refusal: {
        readonly kind: ErrorKind
        readonly message: string
        readonly fields: readonly FieldProblem[] | undefined
      }
    }

/** Outcomes as they travel: thousands of small buffers would take their time. */
interface PackedOutcomes {
  readonly placementIds: readonly string[]
  readonly bytes: Uint8Array
  /** Record i ends here in `bytes`. */
  readonly ends: Uint32Array
}

export type Readers = { readonly [Kind in BodyKind]: (body: Uint8Array) => ReadAs[Kind] }

/** Read a body on the thread that calls. Throw `ServiceError`. */
export const readers: Readers = { cycle: decodeCycle, outcomes: parseOutcomes, weights: parseWeights }

/** The answer to a task. Throws what is no refusal. */
export function answerTask({ kind, box, bytes }: ReadingTask, using: Readers): ReadingAnswer {
  const body = new Uint8Array(box, 0, bytes)
  try {
    return { value: kind === 'outcomes' ? packOutcomes(using.outcomes(body)) : using[kind](body) }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    return { refusal: { kind: error.kind, message: error.message, fields: error.fields } }
  }
}

/** What was read. Throws the refusal. */
export function takeAnswer<Kind extends BodyKind>(kind: Kind, answer: ReadingAnswer): ReadAs[Kind] {
  if ('refusal' in answer) {
    const { kind: refused, message, fields } = answer.refusal
    throw new ServiceError(refused, message, fields === undefined ? {} : { fields })
  }
  const value = kind === 'outcomes' ? unpackOutcomes(answer.value as PackedOutcomes) : answer.value
  return value as ReadAs[Kind]
}

function packOutcomes(outcomes: readonly OutcomeRecord[]): PackedOutcomes {
  let end = 0
  return {
    placementIds: outcomes.map(({ placementId }) => placementId),
    bytes: new Uint8Array(Buffer.concat(outcomes.map(({ record }) => record))),
    ends: Uint32Array.from(outcomes, ({ record }) => (end += record.length)),
  }
}

function unpackOutcomes({ placementIds, bytes, ends }: PackedOutcomes): OutcomeRecord[] {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return placementIds.map((placementId, index) => ({
    placementId,
    record: all.subarray(ends[index - 1] ?? 0, ends[index]),
  }))
}
