/**
 * The package transport-test-1: made by its script, computed as written, and varied enough to be useful.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { silentLog } from '../../base/index.js'
import { forward, makeLayers } from '../../../models/make-transport-test.js'
import { modelsDir, temporaryModelsDir } from '../../../test/helpers/model-packages.js'
import { ordinaryInputs } from '../../../test/helpers/scoring-inputs.js'
import { headNames } from '../../contract/index.js'
import { compileFeatures } from '../features/compile.js'
import { featureGroups, featureNames, loadModel, readPackage } from '../index.js'

const version = 'transport-test-1'

test('the script makes the committed files, byte for byte', () => {
  const directory = temporaryModelsDir()
  const script = fileURLToPath(new URL('../../../models/make-transport-test.ts', import.meta.url))
  const hooks = new URL('../../../bench/typescript.mjs', import.meta.url).href
  execFileSync(process.execPath, ['--import', hooks, script, directory])
  for (const file of ['manifest.json', 'head.onnx', 'golden.json']) {
    const committed = readFileSync(join(modelsDir, version, file))
    expect(Buffer.compare(readFileSync(join(directory, file)), committed), file).toBe(0)
  }
})

test('its kind is not trained, and it reads every group of features', async () => {
  const { manifest } = await readPackage(modelsDir, version)
  expect(manifest.kind).toBe('transport-test')
  expect(manifest.note).toMatch(/not a trained model/i)
  expect(manifest.features).toHaveLength(64)
  for (const [group, features] of Object.entries(featureGroups)) {
    expect(
      features.some((feature) => featureNames(manifest).includes(feature.name)),
      group,
    ).toBe(true)
  }
})

test('the session computes the same as a forward pass in TypeScript', async () => {
  const model = await loadTransportTest()
  const { features } = await readPackage(modelsDir, version)
  const inputs = ordinaryInputs(200, 11)
  const matrix = new Float32Array(inputs.count * features.length)
  compileFeatures(features, 'imputed')(inputs, matrix)
  const heads = await model.predict(inputs)
  const layers = makeLayers()
  for (let row = 0; row < inputs.count; row++) {
    const expected = forward(layers, [...matrix.subarray(row * features.length, (row + 1) * features.length)])
    headNames.forEach((name, head) => {
      expect(Math.abs((heads[name]?.[row] ?? NaN) - (expected[head] ?? NaN))).toBeLessThan(1e-5)
    })
  }
})

test('its heads spread over 0 to 1 on ordinary posts, neither equal nor saturated', async () => {
  const model = await loadTransportTest()
  const heads = await model.predict(ordinaryInputs(1000, 12))
  for (const name of headNames) {
    const sorted = [...(heads[name] ?? [])].sort((a, b) => a - b)
    const at = (share: number): number => sorted[Math.floor(share * sorted.length)]!
    expect(at(0.8) - at(0.2), name).toBeGreaterThan(0.15)
    expect(at(0.05), name).toBeGreaterThan(0.01)
    expect(at(0.95), name).toBeLessThan(0.99)
  }
})

async function loadTransportTest() {
  const model = await loadModel({ modelsDir, version, executionProviders: ['cpu'], log: silentLog })
  onTestFinished(() => model.close())
  return model
}
