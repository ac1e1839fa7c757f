/**
 * Columns of a cycle given as an object, by the reference decoder.
 */
import { decodeCycle } from '../../src/codec/index.js'
import type { CycleColumns, CycleRequest } from '../../src/contract/index.js'
import { bytesOf } from './bodies.js'

export function columnsOf(cycle: CycleRequest): CycleColumns {
  return decodeCycle(bytesOf(cycle))
}
