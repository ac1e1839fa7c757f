/**
 * Models loaded from packages that a test writes, with the real runtime in its processes, and checks of their predictions.
 * The processes run the files of `npm run build`.
 */
import { expect, onTestFinished } from 'vitest'
import { silentLog } from '../../src/base/index.js'
import {
  loadModel,
  ModelError,
  type LoadedModel,
  type LoadOptions,
  type ModelInputs,
} from '../../src/model/index.js'
import { temporaryModelsDir, writePackage } from './model-packages.js'
import { makeInputs } from './scoring-inputs.js'

export interface TestOptions extends LoadOptions {
  /** What was logged: level and message. */
  readonly lines: string[]
}

export function quiet(): TestOptions {
  const lines: string[] = []
  const at = (level: string) => (_: object, message: string) => {
    lines.push(`${level}: ${message}`)
  }
  const log = { ...silentLog, info: at('info'), warn: at('warn'), error: at('error') }
  return { modelsDir: '', version: 'v1', executionProviders: ['cpu'], log, lines }
}

/** Options for a model of that head in a separate directory, as version v1. */
export function packaged(
  head: Uint8Array,
  change: (manifest: ReturnType<typeof writePackage>) => Record<string, unknown> = () => ({}),
  more: Partial<LoadOptions> = {},
): TestOptions {
  const directory = temporaryModelsDir()
  writePackage(directory, 'v1', head, change(writePackage(directory, 'v1', head)))
  return { ...quiet(), modelsDir: directory, ...more }
}

export async function load(options: LoadOptions): Promise<LoadedModel> {
  const model = await loadModel(options)
  onTestFinished(() => model.close())
  return model
}

export function postsWithViews(views: readonly number[]): ModelInputs {
  return makeInputs(views.length, 0, (_, path, row) => (path === 'engagement.views' ? views[row]! : 0))
}

/** p_views of the sigmoid graph for posts with these views: (1 + views) / (2 + views). */
export const expectedViews = (views: readonly number[]): number[] =>
  views.map((count) => (1 + count) / (2 + count))

export function expectClose(values: Float32Array | null, expected: readonly number[]): void {
  expect(values?.length).toBe(expected.length)
  const errors = expected.map((value, row) => Math.abs((values?.[row] ?? NaN) - value))
  expect(Math.max(0, ...errors)).toBeLessThan(1e-5)
}

export async function expectModelError(call: Promise<unknown>, message: RegExp): Promise<void> {
  const error: unknown = await call.catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(ModelError)
  expect((error as ModelError).message).toMatch(message)
}
