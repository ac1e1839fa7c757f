/**
 * Encoders from the configuration files of libraries, with graphs that return constant outputs of a shape.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { exampleTokenizer } from '../../../test/helpers/encoder-plans.js'
import { GraphError, ModelError } from '../model.js'
import type { ImageManifest, TextManifest } from '../package/manifest.js'
import type { Port } from '../sessions/ports.js'
import type { TrialInput, TrialOutput } from '../sessions/trial-runs.js'
import { draftImage } from './draft-image.js'
import { draftText } from './draft-text.js'
import { Findings, type Finding } from './findings.js'
import { Inventory } from './inventory.js'
import type { TrialGraph } from './trial-graph.js'

async function inventoryOf(files: Readonly<Record<string, unknown>>): Promise<Inventory> {
  const directory = mkdtempSync(join(tmpdir(), 'understudy-draft-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, file)), { recursive: true })
    writeFileSync(join(directory, file), JSON.stringify(content))
  }
  return Inventory.read(directory)
}

/** `outputs`: the sizes of each output for a batch. Rows of more than `tokensMax` tokens are an error. */
function graphOf(
  inputs: readonly Port[],
  outputs: (dims: readonly number[]) => Readonly<Record<string, readonly number[]>>,
  tokensMax = Infinity,
  tooLong: Error = new GraphError('too long'),
): TrialGraph {
  return {
    entry: { file: 'encoder/onnx/model.onnx', sha256: '0'.repeat(64) },
    ports: { inputs, outputs: [] },
    run([first]: readonly TrialInput[]) {
      const dims = first?.dims ?? []
      if ((dims[1] ?? 0) > tokensMax) return Promise.reject(tooLong)
      return Promise.resolve(
        Object.entries(outputs(dims)).map(([name, sizes]): TrialOutput => ({
          name,
          dims: sizes,
          values: new Float32Array(0),
        })),
      )
    },
    close: () => Promise.resolve(),
  }
}

const port = (name: string, dtype: string, shape: Port['shape']): Port => ({ name, dtype, shape })
const ids = port('input_ids', 'int64', ['N', 'tokens'])
const mask = port('attention_mask', 'int64', ['N', 'tokens'])
const tokenVectors = ([rows = 0, tokens = 0]: readonly number[]) => ({ last_hidden_state: [rows, tokens, 8] })

async function text(
  files: Readonly<Record<string, unknown>>,
  graph = graphOf([ids, mask], tokenVectors),
): Promise<{ text: TextManifest | null; findings: readonly Finding[] }> {
  const findings = new Findings()
  const all = { 'encoder/tokenizer.json': exampleTokenizer(), ...files }
  return { text: await draftText(graph, await inventoryOf(all), findings), findings: findings.list }
}

const stateOf = (findings: readonly Finding[], name: string): string | undefined =>
  findings.find(({ member }) => member === name)?.state

test('a text encoder of sentence-transformers is read from its files, in the older form and in that of version 6', async () => {
  const modules = ['Transformer', 'Pooling', 'Normalize'].map((name) => ({
    type: `sentence_transformers.models.${name}`,
  }))
  const older = await text({
    'encoder/modules.json': modules,
    'encoder/1_Pooling/config.json': { pooling_mode_cls_token: true, pooling_mode_mean_tokens: false },
    'encoder/sentence_bert_config.json': { max_seq_length: 200 },
    'encoder/tokenizer_config.json': { model_max_length: 512, pad_token: '[UNK]' },
  })
  expect(older.text).toMatchObject({ pooling: 'cls', normalize: true, tokens_max: 200, dim: 8 })
  expect(older.text?.pad_token_id).toBe(1)
  const newer = await text({
    'encoder/modules.json': modules.slice(0, 2),
    'encoder/1_Pooling/config.json': { pooling_mode: 'mean', embedding_dimension: 8 },
    'encoder/tokenizer_config.json': { model_max_length: 48 },
    'encoder/config_sentence_transformers.json': {
      prompts: { query: 'query: ' },
      default_prompt_name: 'query',
    },
  })
  expect(newer.text).toMatchObject({ pooling: 'mean', tokens_max: 48, template: 'query: {title}\n{body}' })
  expect(newer.text?.normalize).toBeUndefined()
  expect(newer.findings.filter(({ state }) => state === 'guessed').map(({ member }) => member)).toEqual([
    'text.template',
  ])
})

test('what no file of a text encoder states is a guess, and no longer row than the graph takes', async () => {
  const graph = graphOf([ids, mask], tokenVectors, 50)
  const { text: drafted, findings } = await text(
    { 'encoder/tokenizer_config.json': { model_max_length: 1e30 } },
    graph,
  )
  expect(drafted).toMatchObject({ pooling: 'mean', tokens_max: 32, template: '{title}\n{body}' })
  for (const name of ['text.pooling', 'text.tokens_max', 'text.normalize', 'text.template'])
    expect([name, stateOf(findings, name)]).toEqual([name, 'guessed'])
})

test('a process that ends in a trial of many tokens says nothing about the rows that the graph takes', async () => {
  const graph = graphOf(
    [ids, mask],
    tokenVectors,
    50,
    new ModelError('a trial run took longer than its time limit'),
  )
  const { findings } = await text({ 'encoder/tokenizer_config.json': { model_max_length: 1e30 } }, graph)
  expect(findings.find(({ member }) => member === 'text.tokens_max')?.source).toMatch(
    /^no file states it, and a trial of \d+ tokens ended with: a trial run took longer/,
  )
})

test('a vector for each text is preferred to vectors of tokens, and needs no pooling', async () => {
  const graph = graphOf([ids, mask], ([rows = 0, tokens = 0]) => ({
    token_embeddings: [rows, tokens, 8],
    sentence_embedding: [rows, 12],
  }))
  const { text: drafted } = await text({}, graph)
  expect(drafted).toMatchObject({ output: 'sentence_embedding', dim: 12 })
  expect(drafted?.pooling).toBeUndefined()
})

test('rows that differ by the rounding of half precision may share a batch', async () => {
  const batchOf = async (dtype: string): Promise<number | undefined> => {
    const outputs = [port('last_hidden_state', dtype, ['N', 'tokens', 8])]
    const graph: TrialGraph = {
      ...graphOf([ids, mask], tokenVectors),
      ports: { inputs: [ids, mask], outputs },
      run([first]: readonly TrialInput[]) {
        const [rows = 0, tokens = 0] = first?.dims ?? []
        const values = new Float32Array(rows * tokens * 8).fill(1 + rows / 1000)
        return Promise.resolve([{ name: 'last_hidden_state', dims: [rows, tokens, 8], values }])
      },
    }
    return (await text({}, graph)).text?.batch
  }
  expect(await batchOf('float16')).toBeUndefined()
  expect(await batchOf('float32')).toBe(1)
})

test('a text encoder that the service cannot run names what it needs', async () => {
  const needs = async (files: object, graph?: TrialGraph): Promise<string[]> =>
    (await text(files as Record<string, unknown>, graph)).findings
      .filter(({ state }) => state === 'needed')
      .map(({ member, source }) => `${member}: ${source}`)
  const dense = { 'encoder/modules.json': [{ type: 'sentence_transformers.models.Dense' }] }
  expect(await needs(dense)).toEqual([
    expect.stringMatching(/^text\.output: .*Dense, which the service does not run/),
  ])
  const whole = graphOf([ids, mask], ([rows = 0]) => ({ sentence_embedding: [rows, 12] }))
  expect(await needs(dense, whole)).toEqual([])
  const last = { 'encoder/1_Pooling/config.json': { pooling_mode_lasttoken: true } }
  expect(await needs(last)).toEqual([expect.stringMatching(/^text\.pooling: .*lasttoken/)])
  const narrow = graphOf([port('input_ids', 'int32', ['N', 'tokens'])], tokenVectors)
  expect(await needs({}, narrow)).toEqual([
    expect.stringMatching(/^text\.inputs: .*must be int64, but is int32/),
  ])
  const broken = graphOf([ids], tokenVectors, 1)
  expect(await needs({}, broken)).toEqual([expect.stringMatching(/^text\.output: .*too long/)])
})

const pixels = port('pixel_values', 'float32', ['N', 3, 224, 224])

async function image(
  config: object | null,
  input = pixels,
  outputs: Parameters<typeof graphOf>[1] = ([rows = 0]) => ({ image_embeds: [rows, 8] }),
  file = 'preprocessor_config.json',
): Promise<{ image: ImageManifest | null; findings: readonly Finding[] }> {
  const findings = new Findings()
  const inventory = await inventoryOf(config === null ? { 'x.txt': 1 } : { [`encoder/${file}`]: config })
  return { image: await draftImage(graphOf([input], outputs), inventory, findings), findings: findings.list }
}

const half = { image_mean: [0.5, 0.5, 0.5], image_std: [0.25, 0.25, 0.25] }
const square = { width: 224, height: 224 }

test.each([
  [
    'CLIP',
    {
      do_center_crop: true,
      crop_size: { height: 224, width: 224 },
      size: { shortest_edge: 256 },
      resample: 3,
      ...half,
    },
    { resize: { shortest_edge: 256 }, crop: square, interpolation: 'bicubic' },
  ],
  [
    'CLIP with numbers',
    { do_center_crop: true, crop_size: 224, size: 224, resample: 3, ...half },
    { resize: { shortest_edge: 224 }, crop: square },
  ],
  [
    'ViT',
    { size: { height: 224, width: 224 }, resample: 2, ...half },
    { resize: square, interpolation: 'bilinear' },
  ],
  ['ViT with a number', { size: 224, resample: 2, ...half }, { resize: square }],
  [
    'ConvNeXt',
    { size: { shortest_edge: 224 }, crop_pct: 0.875, resample: 3, ...half },
    { resize: { shortest_edge: 256 }, crop: square },
  ],
  [
    'MobileViT',
    {
      size: { shortest_edge: 288 },
      do_center_crop: true,
      crop_size: { height: 224, width: 224 },
      do_flip_channel_order: true,
      do_normalize: false,
      resample: 2,
    },
    { resize: { shortest_edge: 288 }, crop: square, channels: 'bgr', mean: [0, 0, 0], std: [1, 1, 1] },
  ],
  [
    'an image without scaling',
    { size: 224, do_rescale: false, resample: 0, ...half },
    { scale: 1, interpolation: 'nearest' },
  ],
])('the preprocessing of %s is read from preprocessor_config.json', async (_, config, expected) => {
  const { image: drafted, findings } = await image(config)
  expect(drafted).toMatchObject(expected)
  if (!('crop' in expected)) expect(drafted?.crop).toBeUndefined()
  if ('image_mean' in config)
    expect(drafted).toMatchObject({ mean: [0.5, 0.5, 0.5], std: [0.25, 0.25, 0.25] })
  expect(findings.filter(({ state }) => state === 'guessed').map(({ member }) => member)).toEqual([
    'image.pooling',
  ])
})

const anySize = port('pixel_values', 'float32', ['N', 3, 'height', 'width'])
const samMean = [0.485, 0.456, 0.406]

test.each([
  [
    'the size of the padding, after the normalisation',
    {
      image_processor_type: 'SamImageProcessor',
      size: { longest_edge: 64 },
      pad_size: { height: 64, width: 48 },
      image_mean: samMean,
    },
    { width: 48, height: 64 },
    { color: [124, 116, 104], side: 'end' },
  ],
  [
    'one size, in black around the image',
    { image_processor_type: 'DonutImageProcessor', size: { height: 32, width: 64 }, image_mean: samMean },
    { width: 64, height: 32 },
    { color: [0, 0, 0], side: 'both' },
  ],
  [
    'a square of the colour of the mean',
    { image_processor_type: 'LlavaImageProcessor', size: 32, image_mean: [0.5, 0.25, 1] },
    { width: 32, height: 32 },
    { color: [128, 64, 255], side: 'both' },
  ],
  [
    'values that are not normalised',
    { size: { height: 32, width: 64 }, do_normalize: false },
    { width: 64, height: 32 },
    { color: [0, 0, 0], side: 'end' },
  ],
])('padding to %s is stated, and a guess', async (_, config, resize, pad) => {
  const { image: drafted, findings } = await image({ ...config, do_pad: true }, anySize)
  expect(drafted).toMatchObject({ resize, pad })
  expect(drafted).not.toHaveProperty('crop')
  expect(stateOf(findings, 'image.pad')).toBe('guessed')
})

test.each([
  ['whose configuration does not pad', { size: { height: 32, width: 64 } }],
  [
    'that are padded to the largest of a batch',
    { do_pad: true, size: { shortest_edge: 64, longest_edge: 96 } },
  ],
])('images %s have no padding', async (_, config) => {
  expect((await image(config, anySize)).image).not.toHaveProperty('pad')
})

test('the preprocessing of timm is read from config.json', async () => {
  const pretrained_cfg = {
    input_size: [3, 224, 224],
    crop_pct: 0.9,
    interpolation: 'bicubic',
    mean: half.image_mean,
    std: half.image_std,
  }
  const { image: drafted } = await image({ pretrained_cfg }, pixels, undefined, 'config.json')
  expect(drafted).toMatchObject({ resize: { shortest_edge: 248 }, crop: square, mean: half.image_mean })
})

test('without a configuration, size and normalisation are guesses', async () => {
  const { image: drafted, findings } = await image(null)
  expect(drafted).toMatchObject({ resize: { shortest_edge: 224 }, crop: square, mean: [0.485, 0.456, 0.406] })
  for (const name of ['image.resize', 'image.crop', 'image.interpolation', 'image.mean', 'image.std'])
    expect([name, stateOf(findings, name)]).toEqual([name, 'guessed'])
})

test('layout and pooling of an image encoder follow its input and its output', async () => {
  const nhwc = port('image', 'float32', ['N', 64, 48, 3])
  const grid = await image(half, nhwc, ([rows = 0]) => ({ features: [rows, 16, 2, 2] }))
  expect(grid.image).toMatchObject({
    layout: 'nhwc',
    resize: { width: 48, height: 64 },
    dim: 16,
    pool: 'mean',
  })
  const tokens = await image(half, pixels, ([rows = 0]) => ({ last_hidden_state: [rows, 5, 12] }))
  expect(tokens.image).toMatchObject({ dim: 12, pool: 'cls' })
  expect(stateOf(tokens.findings, 'image.pool')).toBe('guessed')
})
