/**
 * The check of the tokenizer, what it warns of, although the package may serve; and how far vectors may differ.
 */
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { silentLog } from '../../base/index.js'
import { exampleTokenizer, jsonBytes, textPlan } from '../../../test/helpers/encoder-plans.js'
import { temporaryModelsDir } from '../../../test/helpers/model-packages.js'
import type { GoldenTokens, Manifest } from '../package/manifest.js'
import { openTextProgram } from '../text/text-program.js'
import { checkEncoder, checkTokenizer } from './encoder-checks.js'
import type { TrialModel } from './trial-model.js'

async function check(
  tokenizer: object,
  golden_tokens: GoldenTokens[],
  { kind = 'trained', isLoaded = true }: { kind?: Manifest['kind']; isLoaded?: boolean } = {},
) {
  const directory = temporaryModelsDir()
  const bytes = jsonBytes(tokenizer)
  writeFileSync(join(directory, 'tokenizer.json'), bytes)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const manifest: Manifest = {
    model_version: 'v',
    kind,
    head: { file: 'h.onnx', sha256, inputs: { text: 'text' }, outputs: { p_up: { name: 'p' } } },
    text: {
      file: 't.onnx',
      sha256,
      tokenizer: { file: 'tokenizer.json', sha256 },
      template: '{title}',
      tokens_max: 16,
      dim: 4,
      ...(golden_tokens.length === 0 ? {} : { golden_tokens }),
    },
  }
  return checkTokenizer({ directory, manifest, features: [], files: [] }, { isLoaded, log: silentLog })
}

test('a trained model without golden tokens gets a warning; a transport test has nothing to compare', async () => {
  expect(await check(exampleTokenizer(), [])).toMatchObject({ state: 'warn' })
  expect(await check(exampleTokenizer(), [], { kind: 'transport-test' })).toMatchObject({ state: 'skip' })
})

test('the tokenizer of a model that does not load is opened alone, with its golden tokens', async () => {
  const ids = [2, 595, 3]
  const ofModelThatFails = { isLoaded: false }
  expect(await check(exampleTokenizer(), [{ text: '오늘', ids }], ofModelThatFails)).toMatchObject({
    state: 'pass',
    sentence: '1 golden text give the token ids of the training.',
  })
  await expect(check(exampleTokenizer(), [{ text: '오늘', ids: [2] }], ofModelThatFails)).rejects.toThrow(
    'golden_tokens: "오늘" has tokens 2 595 3 here, but 2 in training',
  )
})

test('a regular expression that never comes to an end fails the check', async () => {
  const pre_tokenizer = {
    type: 'Split',
    pattern: { Regex: '(a+)+b' },
    behavior: 'Isolated',
    invert: false,
  }
  const golden = { text: 'a'.repeat(60), ids: [2, 1, 3] }
  await expect(
    check({ ...exampleTokenizer(), pre_tokenizer }, [golden], { isLoaded: false }),
  ).rejects.toThrow(/^the process of the tokenizer was ended by SIGABRT/)
})

test('vectors alone and together may differ by as much as heads, and always by what padding changes', async () => {
  const check = async (difference: number, tolerance?: number) => {
    const encode = (items: readonly Uint8Array[]) =>
      Promise.resolve({
        vectors: new Float32Array(items.length).fill(items.length === 1 ? 1 + difference : 1),
        encoded: new Uint8Array(items.length).fill(1),
      })
    const text = { hash: 'h', dim: 1, encode }
    const golden = { file: 'g.json', sha256: '', ...(tolerance === undefined ? {} : { tolerance }) }
    const manifest = { model_version: 'v', kind: 'trained', golden } as unknown as Manifest
    return (await checkEncoder({ text } as unknown as TrialModel, 'text', manifest)).state
  }
  expect(await check(5e-5)).toBe('pass')
  expect(await check(5e-5, 1e-6)).toBe('pass')
  expect(await check(2e-4)).toBe('fail')
  expect(await check(2e-4, 1e-3)).toBe('pass')
})

test('a text without tokens has no vector, which is no failure; a model without any vector fails', async () => {
  const bare = { ...exampleTokenizer(), post_processor: null }
  const verified = async (tokenizer: object) => {
    const plan = textPlan({ template: '{title}' }, { tokenizer: jsonBytes(tokenizer) })
    const program = await openTextProgram(plan, silentLog)
    const encode = (items: readonly Uint8Array[]) => program.run({ items, budgetMs: null })
    const text = { hash: 'h', dim: plan.dim, encode }
    return checkEncoder({ text } as unknown as TrialModel, 'text', {} as Manifest)
  }
  expect(await verified(bare)).toMatchObject({
    state: 'pass',
    sentence: expect.stringMatching(/^5 texts give the same finite vectors/) as string,
  })
  expect(await verified(exampleTokenizer())).toMatchObject({
    state: 'pass',
    sentence: expect.stringMatching(/^6 texts give/) as string,
  })
  const none = (items: readonly Uint8Array[]) =>
    Promise.resolve({ vectors: new Float32Array(items.length), encoded: new Uint8Array(items.length) })
  const silent = { text: { hash: 'h', dim: 1, encode: none } } as unknown as TrialModel
  expect(await checkEncoder(silent, 'text', {} as Manifest)).toEqual({
    state: 'fail',
    sentence: 'The text 1 of the check was not encoded.',
  })
})
