/**
 * The simulated disk, as the oracle reads it: whatever the service does, and while it does not run.
 */
import type { WeightsSetting } from '../../src/pool/index.js'
import { createMemoryContents, memoryStore } from '../helpers/memory-store.js'
import type { Store } from '../../src/store/index.js'
import type { CycleContents, ImageArrival, OutcomeEntry, Position } from '../../src/store/index.js'
import { fail } from './oracle.js'

/** A cycle on the disk, apart from vectors. */
export type CycleOnDisk = Omit<CycleContents, 'texts'>

export class SimDisk {
  readonly contents = createMemoryContents()

  /** The position of the oldest cycle that has not expired. */
  get firstPosition(): Position {
    return this.contents.responses.getKeys({ limit: 1 })[0] ?? 1
  }

  get lastPosition(): Position {
    return this.contents.cycles.getKeys({ reverse: true, limit: 1 })[0] ?? 0
  }

  cycleAt(position: Position): CycleOnDisk {
    const store = this.#store()
    const [cycle] = store.tail(position)
    if (cycle?.position !== position) return fail(`nothing is stored at ${position}`)
    const { cycleId, cycleAtMs, receivedAt, modelVersion, weightsVersion } = cycle
    const hashes = store.hashes(position) ?? fail(`cycle ${position} has no hashes`)
    return {
      cycleId,
      cycleAtMs,
      receivedAt,
      modelVersion,
      weightsVersion,
      request: store.readRequest(position) ?? fail(`cycle ${position} has no request`),
      requestSha256: hashes.requestSha256,
      responseSha256: hashes.responseSha256,
      response: store.readResponse(cycleId) ?? fail(`cycle ${position} has no response`),
      record: store.readRecord(position) ?? fail(`cycle ${position} has no record`),
    }
  }

  weights(): WeightsSetting[] {
    return [...this.#store().listWeights()]
  }

  images(): readonly ImageArrival[] {
    return this.#store().expiry.imagesAfter(null, Infinity).rows
  }

  outcomes(): readonly OutcomeEntry[] {
    return this.#store().expiry.outcomesAfter(null, Infinity).rows
  }

  /** Expired cycles whose request is kept. */
  keptEntries(): Position[] {
    return this.#store().expiry.keptEntries(Infinity)
  }

  /** Damages the newest saved pool, if another one or all requests can replace it. Returns false if not. */
  damageSavedPool(): boolean {
    const [newest, older = 0] = this.contents.pool.getKeys({ reverse: true })
    if (newest === undefined || older < this.firstPosition - 1) return false
    const record = this.contents.pool.getBinary(newest)!
    record.set([record.at(-1)! ^ 1], record.length - 1)
    this.contents.pool.put(newest, record)
    return true
  }

  #store(): Store {
    return memoryStore({ contents: this.contents })
  }
}
