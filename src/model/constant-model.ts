/**
 * A model without processes for the warm-up: it computes all features of the catalogue, as the busiest model does, and
 * gives each row the same heads.
 */
import { headNames } from '../contract/index.js'
import { catalogue } from './features/catalogue.js'
import { compileFeatures } from './features/compile.js'
import { byName, clampHeads } from './sessions/head-shares.js'
import type { Model } from './model.js'

const share = 0.5

export function constantModel(): Model {
  const fillFeatures = compileFeatures(catalogue, 'nan')
  return {
    version: 'constant',
    kind: 'trained',
    provider: 'none',
    text: null,
    image: null,
    predict(inputs) {
      fillFeatures(inputs, new Float32Array(inputs.count * catalogue.length))
      const columns = headNames.map(() => new Float32Array(inputs.count).fill(share))
      clampHeads(headNames, columns)
      return Promise.resolve(byName(headNames, columns))
    },
  }
}
