/**
 * Model packages on disk: what is accepted, and what an author is told about the rest.
 */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  modelsDir,
  sigmoidGraph,
  temporaryModelsDir,
  writePackage,
} from '../../test/helpers/model-packages.js'
import { activeVersion, listModels, ModelError, readPackage, type Manifest } from './index.js'

describe('a package', () => {
  test('that is sound is read, with its features in the order of the manifest', async () => {
    const directory = temporaryModelsDir()
    writePackage(directory, 'v1', sigmoidGraph, { features: ['up_log', 'views_log'] })
    const { manifest, features, head } = await readPackage(directory, 'v1')
    expect(manifest.model_version).toBe('v1')
    expect(features.map((feature) => feature.name)).toEqual(['up_log', 'views_log'])
    expect(Buffer.compare(head, sigmoidGraph)).toBe(0)
  })

  test('whose head is not the file that was hashed is refused', async () => {
    const directory = temporaryModelsDir()
    writePackage(directory, 'v1', sigmoidGraph)
    writeFileSync(join(directory, 'v1', 'head.onnx'), 'something else')
    await expectRefusal(directory, 'v1', /head\.onnx has SHA-256 [0-9a-f]{64}, and its manifest says/)
  })

  test('whose head is missing is refused', async () => {
    const directory = temporaryModelsDir()
    writePackage(directory, 'v1', sigmoidGraph)
    rmSync(join(directory, 'v1', 'head.onnx'))
    await expectRefusal(directory, 'v1', /head\.onnx does not exist/)
  })

  test('whose directory has another name than its version is refused', async () => {
    const directory = temporaryModelsDir()
    writePackage(directory, 'v1', sigmoidGraph, { model_version: 'v2' })
    await expectRefusal(directory, 'v1', /model_version is v2, and the directory v1/)
  })

  test('that asks for features which the catalogue lacks is refused, with their names', async () => {
    const directory = temporaryModelsDir()
    writePackage(directory, 'v1', sigmoidGraph, { features: ['views_log', 'mood', 'luck'] })
    await expectRefusal(directory, 'v1', /features that the catalogue lacks: mood, luck/)
  })

  test('that is not there is refused', async () => {
    await expectRefusal(temporaryModelsDir(), 'v1', /v1.manifest\.json does not exist/)
  })

  test.each(['../v1', '.', '', 'a/b', '.hidden'])('is never looked for under the version %j', (version) =>
    expectRefusal(temporaryModelsDir(), version, /is no model version/),
  )
})

describe('a manifest is refused, naming file, path and rule, when', () => {
  const head = (changes: object) => (manifest: Manifest) => ({ head: { ...manifest.head, ...changes } })

  test.each<[string, (manifest: Manifest) => Record<string, unknown>, RegExp]>([
    ['its kind is unknown', () => ({ kind: 'toy' }), /manifest\.json: kind must be .*"trained".*is "toy"/],
    ['a member is missing', () => ({ head: undefined }), /manifest\.json: head is required/],
    ['it has no features', () => ({ features: [] }), /features must be .*MinItems<1>/],
    [
      'it names a feature twice',
      () => ({ features: ['up_log', 'up_log'] }),
      /features must be .*UniqueItems/,
    ],
    ['a feature is no name', () => ({ features: [7] }), /features\[0\] must be string, and is 7/],
    ['a member is unknown', () => ({ featuers: [] }), /manifest\.json: featuers is not known/],
    ['a hash is malformed', head({ sha256: 'abc' }), /head\.sha256 must be .*Pattern/],
    ['a file lies elsewhere', head({ file: '../head.onnx' }), /head\.file must be .*Pattern/],
    [
      'an output is no head',
      head({ outputs: { p_luck: { name: 'x' } } }),
      /head\.outputs\.p_luck is not known/,
    ],
    [
      'a column is negative',
      head({ outputs: { p_up: { name: 'x', column: -1 } } }),
      /head\.outputs\.p_up\.column must be .*uint32/,
    ],
    [
      'it predicts nothing that is scored',
      head({ outputs: { downvote_share: { name: 'probs' } } }),
      /head\.outputs must have at least one of p_views, p_comments, p_up/,
    ],
  ])('%s', async (_, change, message) => {
    const directory = temporaryModelsDir()
    const manifest = writePackage(directory, 'v1', sigmoidGraph)
    writePackage(directory, 'v1', sigmoidGraph, change(manifest))
    await expectRefusal(directory, 'v1', message)
  })

  test('it is no JSON', async () => {
    const directory = temporaryModelsDir()
    writePackage(directory, 'v1', sigmoidGraph)
    writeFileSync(join(directory, 'v1', 'manifest.json'), '{"model_version":')
    await expectRefusal(directory, 'v1', /manifest\.json is not JSON/)
  })
})

describe('a models directory', () => {
  test('lists the versions that have a manifest, in the order of their names', async () => {
    const directory = temporaryModelsDir()
    writePackage(directory, 'v2', sigmoidGraph)
    writePackage(directory, 'v1', sigmoidGraph)
    writePackage(directory, 'not-a-model', sigmoidGraph)
    rmSync(join(directory, 'not-a-model', 'manifest.json'))
    writeFileSync(join(directory, 'README.md'), '')
    expect(await listModels(directory)).toEqual(['v1', 'v2'])
  })

  test('names its active version on the one line of ACTIVE', async () => {
    const directory = temporaryModelsDir()
    writeFileSync(join(directory, 'ACTIVE'), 'v2\n')
    expect(await activeVersion(directory)).toBe('v2')
    for (const text of ['', 'v1\nv2\n', '../v1']) {
      writeFileSync(join(directory, 'ACTIVE'), text)
      await expect(activeVersion(directory)).rejects.toThrow(/ACTIVE must hold one line, a model version/)
    }
    rmSync(join(directory, 'ACTIVE'))
    await expect(activeVersion(directory)).rejects.toThrow(/ACTIVE does not exist/)
  })

  test('of this repository has a sound package for every version, the active one among them', async () => {
    const versions = await listModels(modelsDir)
    expect(versions).toContain(await activeVersion(modelsDir))
    for (const version of versions) await readPackage(modelsDir, version)
  })
})

async function expectRefusal(directory: string, version: string, message: RegExp): Promise<void> {
  const error: unknown = await readPackage(directory, version).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(ModelError)
  expect((error as ModelError).message).toMatch(message)
}
