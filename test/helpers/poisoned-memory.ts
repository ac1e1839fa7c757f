/** Imported by a test of cycles: memory of the store and of the caches of vectors is overwritten when it is released. */
import { VectorTable } from '../../src/cycle/embeddings/vectors.js'
import { poisonVectors } from './poison.js'
import './poisoned-store.js'

poisonVectors(VectorTable)
