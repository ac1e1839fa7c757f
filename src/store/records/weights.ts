/**
 * The history of weights in the databases: the entries by number, and two indexes of them. So neither a look-up nor a write
 * takes longer when more weights have been set. `weight_versions` has the first entry of each version. `weight_times` has
 * the entries that apply to some cycle, the one with the last `first_cycle_time` first: an entry hides each earlier one that
 * begins with it or after it.
 */
import { StoreError } from '../store-error.js'
import type { WeightsEntry, WeightsRecords } from '../store.js'
import type { Databases } from './databases.js'
import { nameHash, weightsTimeKey } from './keys.js'
import { bytesOf, checkName, type RecordAccess } from './record-access.js'
import * as records from './payloads.js'

export function weightsRecords(db: Databases, access: RecordAccess): WeightsRecords {
  const readWeights = (number: number): WeightsEntry | undefined =>
    access.read(db.weights, number, records.readWeights)

  const indexed = (number: number): WeightsEntry => {
    const entry = readWeights(number)
    if (entry === undefined)
      throw new StoreError('failed', `weights, number ${number}: the record is missing`)
    return entry
  }

  const weightsCount = (): number => {
    access.checkOpen()
    return [...db.weights.getKeys({ reverse: true, limit: 1 })][0] ?? 0
  }

  /** Runs within a transaction, in the order of the numbers. */
  const index = (number: number, { version, firstCycleMs }: WeightsEntry): void => {
    const record = records.packPosition(number)
    const key = nameHash(version)
    if (!db.weightVersions.doesExist(key)) db.weightVersions.putSync(key, record)
    const end = weightsTimeKey(firstCycleMs)
    for (const hidden of [...db.weightTimes.getKeys({ end })]) db.weightTimes.removeSync(hidden)
    db.weightTimes.putSync(end, record)
  }

  function* listWeights(): Generator<WeightsEntry> {
    for (let number = 1; ; number++) {
      const entry = readWeights(number)
      if (entry === undefined) return
      yield entry
    }
  }

  return {
    async appendWeights(entries, count) {
      const packed = entries.map(records.packWeights)
      await access.writes.write(bytesOf(packed), () => {
        const stored = weightsCount()
        if (count !== undefined && count !== stored)
          throw new StoreError('failed', `the history of weights has ${stored} entries, expected ${count}`)
        for (const [offset, entry] of entries.entries()) {
          db.weights.putSync(stored + 1 + offset, packed[offset]!)
          index(stored + 1 + offset, entry)
        }
      })
    },
    weightsCount,
    readWeights,
    findWeights(version) {
      const number = access.read(db.weightVersions, nameHash(version), records.readPosition)
      if (number === undefined) return undefined
      const entry = indexed(number)
      checkName(entry.version, version)
      return entry
    },
    weightsAt(cycleAtMs) {
      const [key] = [...db.weightTimes.getKeys({ start: weightsTimeKey(cycleAtMs), limit: 1 })]
      const number = key && access.read(db.weightTimes, key, records.readPosition)
      return number === undefined ? readWeights(1) : indexed(number)
    },
    listWeights,
  }
}
