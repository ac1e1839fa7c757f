/** The history of weights in the databases: entries by number. */
import type { WeightsSetting } from '../../pool/index.js'
import { StoreError } from '../store-error.js'
import type { WeightsRecords } from '../store.js'
import type { Databases } from './databases.js'
import type { RecordAccess } from './record-access.js'
import * as records from './payloads.js'

export function weightsRecords(db: Databases, access: RecordAccess): WeightsRecords {
  return {
    async appendWeights(number, entry) {
      const record = records.packWeights(entry)
      await access.writes.write(record.byteLength, () => {
        const next = weightsCount(db) + 1
        if (number !== next)
          throw new StoreError('failed', `the next weights have the number ${next}, not ${number}`)
        db.weights.put(number, record)
      })
    },
    *listWeights() {
      for (let number = 1; ; number++) {
        const entry = access.read(db.weights, number, records.readWeights)
        if (entry === undefined) return
        yield entry
      }
    },
  }
}

/** The last entry of a version: all entries of a version have the same weights. */
export function findWeights(db: Pick<Databases, 'weights'>, version: string): WeightsSetting | undefined {
  for (let number = weightsCount(db); number > 0; number--) {
    const record = db.weights.getBinary(number)
    const entry = record && records.readWeights(record)
    if (entry?.version === version) return entry
  }
  return undefined
}

function weightsCount({ weights }: Pick<Databases, 'weights'>): number {
  return [...weights.getKeys({ reverse: true, limit: 1 })][0] ?? 0
}
