/**
 * The history of weights, and the outcomes of placements, in the databases.
 */
import type { Databases } from './databases.js'
import { nameHash } from './keys.js'
import { bytesOf, checkName, type RecordAccess } from './record-access.js'
import * as records from './records.js'
import { StoreError } from '../store-error.js'
import type { HistoryRecords, WeightsEntry } from '../store.js'

export function weightsAndOutcomes(db: Databases, access: RecordAccess): HistoryRecords {
  return {
    async appendWeights(entry, count) {
      const record = records.packWeights(entry)
      await access.write('appendWeights', record.byteLength, () => {
        let key = 1
        while (db.weights.doesExist(key)) key++
        if (count !== undefined && count !== key - 1)
          throw new StoreError('failed', `the history of weights has ${key - 1} entries, expected ${count}`)
        db.weights.putSync(key, record)
      })
    },
    listWeights() {
      const entries: WeightsEntry[] = []
      for (let key = 1; ; key++) {
        const entry = access.read(db.weights, key, records.readWeights)
        if (entry === undefined) return entries
        entries.push(entry)
      }
    },
    async putOutcomes(entries) {
      const rows = entries.map((entry) => ({
        key: nameHash(entry.placementId),
        record: records.packOutcome(entry),
      }))
      return access.write('putOutcomes', bytesOf(rows.map(({ record }) => record)), () => {
        let created = 0
        for (const { key, record } of rows) {
          if (!db.outcomes.doesExist(key)) created++
          db.outcomes.putSync(key, record)
        }
        return { created, updated: rows.length - created }
      })
    },
    readOutcome(placementId) {
      const outcome = access.read(db.outcomes, nameHash(placementId), records.readStoredOutcome)
      if (outcome === undefined) return undefined
      checkName(outcome.placementId, placementId)
      return outcome.record
    },
    *outcomes() {
      access.checkOpen()
      for (const { value } of db.outcomes.getRange({}))
        yield records.readStoredOutcome(Uint8Array.from(value))
    },
  }
}
