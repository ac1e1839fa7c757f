/**
 * The check of the tokenizer, what it warns of, although the package may serve; and how far vectors may differ.
 */
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { exampleTokenizer, jsonBytes } from '../../../test/helpers/encoder-plans.js'
import { temporaryModelsDir } from '../../../test/helpers/model-packages.js'
import type { GoldenTokens, Manifest } from '../package/manifest.js'
import { checkEncoder, checkTokenizer } from './encoder-checks.js'
import type { TrialModel } from './trial-model.js'

const unigram = {
  ...exampleTokenizer(),
  added_tokens: [],
  normalizer: null,
  post_processor: null,
  pre_tokenizer: { type: 'Metaspace', replacement: '\u2581', prepend_scheme: 'always', split: true },
  model: {
    type: 'Unigram',
    unk_id: 0,
    vocab: [
      ['<unk>', 0],
      ['\u2581a', -1],
    ],
  },
}

async function check(tokenizer: object, golden_tokens: GoldenTokens[], kind: Manifest['kind'] = 'trained') {
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
  return checkTokenizer({ directory, manifest, features: [], files: [] })
}

test('a trained model without golden tokens gets a warning; a transport test has nothing to compare', async () => {
  expect(await check(exampleTokenizer(), [])).toMatchObject({ state: 'warn' })
  expect(await check(exampleTokenizer(), [], 'transport-test')).toMatchObject({ state: 'skip' })
})

test('a Unigram vocabulary that merges unknown words gets a warning until golden tokens have an unknown one', async () => {
  const known = { text: 'a', ids: [1] }
  const { state, sentence } = await check(unigram, [known])
  expect(state).toBe('warn')
  expect(sentence).toMatch(
    /has no piece \u2581, so unknown words that follow each other become one unknown token here/,
  )
  expect(await check(unigram, [known, { text: 'x', ids: [0] }])).toMatchObject({ state: 'pass' })
  await expect(check(unigram, [{ text: 'x y', ids: [0, 0] }])).rejects.toThrow(
    /has tokens 0 here, but 0 0 in training/,
  )
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
