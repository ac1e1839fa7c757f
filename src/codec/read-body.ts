/**
 * Reads bodies without blocking the event loop: small ones at once, large ones in a worker thread, because a body that is
 * wrong on purpose takes up to half a second to examine. Both ways give the same values and the same errors.
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
import { WorkerRunner, type TaskName } from './worker.js'

/** What a body of each kind becomes. */
export interface BodyValues {
  readonly cycle: CycleColumns
  readonly outcomes: readonly OutcomeRecord[]
  readonly weights: WeightsRequest
}

export type BodyKind = keyof BodyValues

type Readers = { readonly [Kind in BodyKind]: (body: Uint8Array) => BodyValues[Kind] }

/** Read a body on the calling thread. Throw `ServiceError`. */
export const readers: Readers = { cycle: decodeCycle, outcomes: parseOutcomes, weights: parseWeights }

/** Bodies up to this size are read at once: that takes a few milliseconds, less than the way to a thread and back. */
export const inlineBodyBytesMax = 64 * 1024

const taskNames: Readonly<Record<BodyKind, TaskName>> = {
  cycle: 'readCycle',
  outcomes: 'readOutcomes',
  weights: 'readWeights',
}

const processRunner = new WorkerRunner()

/**
 * Reads a body. Leave it unchanged until the promise has settled. Rejects with the error of `readers`; with `unavailable`
 * when too many bytes wait, or when the thread fails or exceeds a limit.
 */
export async function readBody<Kind extends BodyKind>(
  kind: Kind,
  body: Uint8Array,
  runner = processRunner,
): Promise<BodyValues[Kind]> {
  if (body.length <= inlineBodyBytesMax) return readers[kind](body)
  const answer = await runner.run(taskNames[kind], [body]).catch((cause: unknown) => {
    if (cause instanceof ServiceError) throw cause
    throw new ServiceError('unavailable', 'the body could not be examined', { cause })
  })
  return valueOf(kind, answer as Answer)
}

/** What the thread posts: a value, or the refusal that becomes the client's error. */
type Answer =
  | { readonly value: unknown }
  | {
      readonly refusal: {
        readonly kind: ErrorKind
        readonly message: string
        readonly fields: readonly FieldProblem[] | undefined
      }
    }

/** Runs `read` in the thread. Throws what is no refusal. */
export function answerOf(read: () => unknown): Answer {
  try {
    return { value: read() }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    return { refusal: { kind: error.kind, message: error.message, fields: error.fields } }
  }
}

function valueOf<Kind extends BodyKind>(kind: Kind, answer: Answer): BodyValues[Kind] {
  if ('refusal' in answer) {
    const { kind: errorKind, message, fields } = answer.refusal
    throw new ServiceError(errorKind, message, fields === undefined ? {} : { fields })
  }
  const value = kind === 'outcomes' ? unpackOutcomes(answer.value as PackedOutcomes) : answer.value
  return value as BodyValues[Kind]
}

/** Outcomes as they are posted: cloning thousands of small buffers would take the event loop long. */
interface PackedOutcomes {
  readonly placementIds: readonly string[]
  readonly bytes: Uint8Array
  /** Record i ends here in `bytes`. */
  readonly ends: Uint32Array
}

export function packOutcomes(outcomes: readonly OutcomeRecord[]): PackedOutcomes {
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
