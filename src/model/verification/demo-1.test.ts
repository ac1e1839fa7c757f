/**
 * The package demo-1: small, labelled, and equal to what scikit-learn predicts. docs/tutorial.md shows how such a model is made.
 */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { silentLog } from '../../base/index.js'
import { modelsDir } from '../../../test/helpers/model-packages.js'
import { readPackage, verifyPackage } from '../index.js'

const version = 'demo-1'

test('is trained, names its training data, and is small', async () => {
  const { manifest } = await readPackage(modelsDir, version)
  expect(manifest.kind).toBe('trained')
  expect(manifest.provenance?.trained_on).toMatch(/^simulated posts: \d+ placements/)
  expect(manifest.note).toContain('Trained on simulated posts')
  const directory = join(modelsDir, version)
  const bytes = readdirSync(directory).map((file) => statSync(join(directory, file)).size)
  expect(bytes.reduce((sum, size) => sum + size)).toBeLessThan(300_000)
})

// The golden cases have the predictions of scikit-learn: this check compares them with the graphs of tree_graph.py.
test('passes every check, with golden cases of scikit-learn', async () => {
  const { checks } = await verifyPackage({ modelsDir, version, executionProviders: ['cpu'], log: silentLog })
  expect(checks.filter(({ state }) => state !== 'pass').map(({ check, state }) => [check, state])).toEqual([
    ['tokenizer', 'skip'],
    ['text', 'skip'],
    ['image', 'skip'],
  ])
  expect(checks.find(({ check }) => check === 'golden')?.sentence).toMatch(/^12 golden cases/)
})
