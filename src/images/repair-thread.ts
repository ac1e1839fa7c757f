/**
 * Repairs JPEGs: small ones at once, others in a worker thread, since reading 5 MiB takes the event loop too long.
 */
import { Worker } from 'node:worker_threads'
import { kibibyte } from '../base/index.js'
import { WorkerRunner } from '../codec/index.js'
import { imageSegmentsMax, ServiceError } from '../contract/index.js'
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
    bytes.length <= inlineBytesMax ? repairedJpeg(bytes, repair) : await repairInThread(bytes, repair, runner)
  if (repaired === null) throw tooManySegments()
  return repaired
}

export function tooManySegments(): ServiceError {
  return new ServiceError({ code: 'too_many_segments', segments_max: imageSegmentsMax })
}

async function repairInThread(
  bytes: Uint8Array,
  repair: Repair,
  runner: WorkerRunner,
): Promise<Uint8Array | null> {
  const repaired = await runner.run(repair, [bytes]).catch((cause: unknown) => {
    if (cause instanceof ServiceError) throw cause
    throw new ServiceError({ code: 'image_failed' }, { cause })
  })
  return repaired as Uint8Array | null
}

/** Sources that run unbuilt start the built file, since its imports name built files. */
function startThread(): Worker {
  const file = import.meta.url.endsWith('.ts') ? '../../dist/images/repair-entry.js' : './repair-entry.js'
  return new Worker(new URL(file, import.meta.url), { execArgv: [], name: 'images' })
}
