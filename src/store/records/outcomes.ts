/**
 * The outcomes of placements in the databases.
 */
import type { Databases } from './databases.js'
import { nameHash } from './keys.js'
import { bytesOf, checkName, type RecordAccess } from './record-access.js'
import * as records from './payloads.js'
import type { OutcomeRecords } from '../store.js'

export function outcomeRecords(db: Databases, access: RecordAccess): OutcomeRecords {
  return {
    async putOutcomes(entries) {
      const rows = entries.map((entry) => ({
        key: nameHash(entry.placementId),
        record: records.packOutcome(entry),
      }))
      return access.writes.write(bytesOf(rows.map(({ record }) => record)), () => {
        let created = 0
        for (const { key, record } of rows) {
          if (!db.outcomes.doesExist(key)) created++
          db.outcomes.put(key, record)
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
