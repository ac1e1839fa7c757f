/**
 * Overwrites memory of the store that is lent for a short time: the values of a range, at the end of the turn of the event
 * loop; the scratch memory of a record, when the next one is packed. A reader that keeps them reads 0xFF and fails.
 */
import { setImmediate } from 'node:timers'
import { MemoryDatabase } from '../../src/store/memory/memory-store.js'
import { Scratch } from '../../src/store/records/envelope.js'
import type { KeyRange } from '../../src/store/records/index.js'

type Values = { key: number; value: Uint8Array }[]

export function poisonRecords(): void {
  const memory = MemoryDatabase.prototype as { getRange: (this: unknown, range: KeyRange<number>) => Values }
  const { getRange } = memory
  memory.getRange = function (range): Values {
    const rows = getRange.call(this, range)
    setImmediate(() => rows.forEach(({ value }) => value.fill(0xff)))
    return rows
  }
  const lent = new WeakMap<Scratch, Uint8Array>()
  Scratch.prototype.take = function (bytes): Uint8Array {
    lent.get(this)?.fill(0xff)
    const memory = new Uint8Array(bytes)
    lent.set(this, memory)
    return memory
  }
}
