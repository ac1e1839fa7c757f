/**
 * The check of the tokenizer: what it warns of, although the package may serve.
 */
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { exampleTokenizer, jsonBytes } from '../../../test/helpers/encoder-plans.js'
import { temporaryModelsDir } from '../../../test/helpers/model-packages.js'
import type { GoldenTokens, Manifest } from '../package/manifest.js'
import { checkTokenizer } from './encoder-checks.js'

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
