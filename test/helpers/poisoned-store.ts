/** Imported by a test of the store: memory that it lends is overwritten when it is released (see poison.ts). */
import { MemoryDatabase } from '../../src/store/memory/memory-store.js'
import { Scratch } from '../../src/store/records/envelope.js'
import { poisonRanges, poisonScratch } from './poison.js'

poisonRanges(MemoryDatabase)
poisonScratch(Scratch)
