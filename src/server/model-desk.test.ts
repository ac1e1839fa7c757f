/**
 * The model that serves, with a real package, its processes and a store. How it changes is in test/model-swap.test.ts.
 */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { cycleMs } from '../../test/helpers/bodies.js'
import { sigmoidGraph, temporaryModelsDir, writePackage } from '../../test/helpers/model-packages.js'
import { referenceCodec } from '../codec/index.js'
import { CycleService } from '../cycle/index.js'
import { createMemoryStore } from '../store/index.js'
import { ModelDesk } from './model-desk.js'
import { ModelLoader } from './model-loader.js'
import type { Settings } from './settings.js'

test('another manifest under the name that serves is told of once, and again when it changes again', async () => {
  const modelsDir = temporaryModelsDir()
  writePackage(modelsDir, 'v1', sigmoidGraph)
  writeFileSync(join(modelsDir, 'ACTIVE'), 'v1\n')
  const { desk, errors } = await openDesk(modelsDir)
  const lookTwice = async (): Promise<void> => {
    await desk.look()
    await desk.look()
  }
  await lookTwice()
  writePackage(modelsDir, 'v1', sigmoidGraph, { note: 'of no score' })
  await lookTwice()
  expect(errors).toEqual([])

  writePackage(modelsDir, 'v1', sigmoidGraph, { features: ['up_log'] })
  for (let count = 0; count < 4; count++) await desk.look()
  expect(errors).toEqual([expect.stringMatching(/^v1: the files of the model that serves have changed; /)])
  expect(desk.current()?.version).toBe('v1')

  // Still being written at one look, and whole at the next.
  writeFileSync(join(modelsDir, 'v1', 'manifest.json'), '{ "model_version": ')
  await desk.look()
  writePackage(modelsDir, 'v1', sigmoidGraph)
  await lookTwice()
  expect(errors).toHaveLength(1)

  writePackage(modelsDir, 'v1', sigmoidGraph, { missing: 'nan' })
  await lookTwice()
  expect(errors).toHaveLength(2)
})

test.each([
  ['is gone', (manifest: string) => rmSync(manifest)],
  ['stays half', (manifest: string) => writeFileSync(manifest, '{ "model_version": ')],
])('a manifest of the version that serves which %s is told of once', async (_, spoil) => {
  const modelsDir = temporaryModelsDir()
  writePackage(modelsDir, 'v1', sigmoidGraph)
  writeFileSync(join(modelsDir, 'ACTIVE'), 'v1\n')
  const { desk, errors } = await openDesk(modelsDir)
  spoil(join(modelsDir, 'v1', 'manifest.json'))
  for (let count = 0; count < 4; count++) await desk.look()
  expect(errors).toEqual([
    expect.stringMatching(/^v1: the files of the model that serves can no longer be read; /),
  ])
  expect(desk.current()?.version).toBe('v1')
})

async function openDesk(modelsDir: string): Promise<{ desk: ModelDesk; errors: string[] }> {
  const errors: string[] = []
  const log = {
    info: () => undefined,
    warn: () => undefined,
    error: (fields: object, message: string) => {
      errors.push(`${(fields as { model_version: string }).model_version}: ${message}`)
    },
  }
  const store = createMemoryStore()
  const settings = {
    modelsDir,
    executionProviders: ['cpu'],
    predictMsMax: 30_000,
    modelProcessBytesMax: 2 ** 32,
  } as unknown as Settings
  const loader = new ModelLoader({ settings, codec: referenceCodec, store, log })
  const desk = new ModelDesk({ modelsDir, loader, log })
  const cycles = await CycleService.open({
    codec: referenceCodec,
    store,
    model: () => desk.current(),
    clock: () => cycleMs(1),
    limits: () => ({ clockSkewMs: 2000, cyclesWaitingMax: 4 }),
    textEncodeMsMax: 1000,
    initialWeights: { version: 'initial', weights: { views: 1, comments: 0, up: 0, downvote_share: 0 } },
    log,
  })
  onTestFinished(async () => {
    await cycles.close()
    await desk.close()
  })
  await desk.open(cycles)
  expect(errors).toEqual([])
  return { desk, errors }
}
