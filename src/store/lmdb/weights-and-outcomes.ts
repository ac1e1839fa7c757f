/**
 * The history of weights, and the outcomes of placements, on LMDB.
 */
import type { Databases } from './databases.js'
import { placementKeyOf } from './keys.js'
import { bytesOf, checkName, type RecordAccess } from './record-access.js'
import * as records from './records.js'
import type { OutcomeEntry, Store, WeightsEntry } from '../store.js'

type WeightsAndOutcomes = Pick<Store, 'appendWeights' | 'listWeights' | 'putOutcomes' | 'readOutcome'>

export class LmdbWeightsAndOutcomes implements WeightsAndOutcomes {
  readonly #db: Databases
  readonly #access: RecordAccess

  constructor(databases: Databases, access: RecordAccess) {
    this.#db = databases
    this.#access = access
  }

  async appendWeights(entry: WeightsEntry): Promise<void> {
    const record = records.packWeights(entry)
    return this.#access.write(record.byteLength, () => {
      let key = 1
      while (this.#db.weights.doesExist(key)) key++
      this.#db.weights.putSync(key, record)
    })
  }

  listWeights(): WeightsEntry[] {
    const entries: WeightsEntry[] = []
    for (let key = 1; ; key++) {
      const record = this.#access.read(this.#db.weights, key)
      if (record === undefined) return entries
      entries.push(records.readWeights(record))
    }
  }

  async putOutcomes(entries: readonly OutcomeEntry[]): Promise<{ created: number; updated: number }> {
    const rows = entries.map((entry) => ({
      key: placementKeyOf(entry.placementId),
      record: records.packOutcome(entry),
    }))
    return this.#access.write(bytesOf(...rows.map((row) => row.record)), () => {
      let created = 0
      for (const { key, record } of rows) {
        if (!this.#db.outcomes.doesExist(key)) created++
        this.#db.outcomes.putSync(key, record)
      }
      return { created, updated: rows.length - created }
    })
  }

  readOutcome(placementId: string): Uint8Array | undefined {
    const record = this.#access.read(this.#db.outcomes, placementKeyOf(placementId))
    if (record === undefined) return undefined
    const outcome = records.readStoredOutcome(record)
    checkName(outcome.placementId, placementId)
    return outcome.record
  }
}
