/**
 * Repairs and measures JPEGs: small ones at once, others in a worker thread, since reading 5 MiB takes the event loop too long.
 */
import { Worker } from 'node:worker_threads'
import { builtFile, kibibyte } from '../base/index.js'
import { WorkerRunner } from '../codec/index.js'
import { imageSegmentsMax, ServiceError } from '../contract/index.js'
import { measuringJpeg } from './jpeg-measure.js'
import { repairedJpeg, type Repair } from './jpeg-repair.js'

/** Repairing this many bytes takes a fraction of a millisecond. */
const inlineBytesMax = 64 * kibibyte

const thread = new WorkerRunner(startThread)

/**
 * Leave the bytes unchanged until the promise settles. Rejects with `bad_request` for a JPEG of too many segments, and with
 * `unavailable` when the thread fails: the image may be valid.
 */
export async function repairJpeg(bytes: Uint8Array, repair: Repair, runner = thread): Promise<Uint8Array> {
  const repaired =
    bytes.length <= inlineBytesMax ? repairedJpeg(bytes, repair) : await copyInThread(bytes, repair, runner)
  if (repaired === null) throw tooManySegments()
  return repaired
}

/** As `measuringJpeg`. Leave the bytes unchanged until the promise settles. Rejects with `unavailable` when the thread fails. */
export async function measureJpeg(bytes: Uint8Array): Promise<Uint8Array | null> {
  return bytes.length <= inlineBytesMax ? measuringJpeg(bytes) : await copyInThread(bytes, 'measure', thread)
}

export function tooManySegments(): ServiceError {
  return new ServiceError({ code: 'too_many_segments', segments_max: imageSegmentsMax })
}

/** What the thread makes of a JPEG. */
export type ThreadTask = Repair | 'measure'

async function copyInThread(
  bytes: Uint8Array,
  task: ThreadTask,
  runner: WorkerRunner,
): Promise<Uint8Array | null> {
  const copy = await runner.run(task, [bytes]).catch((cause: unknown) => {
    if (cause instanceof ServiceError) throw cause
    throw new ServiceError({ code: 'image_failed' }, { cause })
  })
  return copy as Uint8Array | null
}

function startThread(): Worker {
  return new Worker(builtFile('images/repair-entry.js'), { execArgv: [], name: 'images' })
}
