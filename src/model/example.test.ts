/**
 * The package example-1: made by its script, small, whole, and different for different posts.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { modelsDir, temporaryModelsDir } from '../../test/helpers/model-packages.js'
import { checkHashes, readPackage } from './package.js'

const version = 'example-1'
const fileNames = ['manifest.json', 'head.onnx', 'text/model.onnx', 'text/tokenizer.json', 'image/model.onnx']

test('the script makes the committed files, byte for byte, well under a megabyte', () => {
  const directory = temporaryModelsDir()
  const script = fileURLToPath(new URL('../../models/make-example.ts', import.meta.url))
  const hooks = new URL('../../bench/typescript.mjs', import.meta.url).href
  execFileSync(process.execPath, ['--import', hooks, script, directory])
  let bytes = 0
  for (const file of fileNames) {
    const committed = readFileSync(join(modelsDir, version, file))
    bytes += committed.length
    expect(Buffer.compare(readFileSync(join(directory, file)), committed), file).toBe(0)
  }
  expect(bytes).toBeLessThan(500_000)
})

test('its manifest holds together with its files, and says that it is no trained model', async () => {
  const found = await readPackage(modelsDir, version)
  await checkHashes(found)
  expect(found.manifest.kind).toBe('transport-test')
  expect(found.manifest.note).toMatch(/not a trained model/i)
  expect(found.files.map(({ place }) => place)).toEqual(['head', 'text', 'image', 'text.tokenizer'])
})
