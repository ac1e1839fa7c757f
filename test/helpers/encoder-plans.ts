/**
 * Plans of encoder programs: those of the example package, written to a directory that is removed when the test ends.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { makeExample } from '../../models/make-example.js'
import type { FilePlan, ImagePlan, TextPlan } from '../../src/model/sessions/plans.js'

const example = makeExample()
const run = { providers: ['cpu'], intraOpThreads: 1 }

/** The example's text encoder; `changes` replace members, `graph` and `tokenizer` its files. */
export function textPlan(
  changes: Partial<TextPlan> = {},
  files: { readonly graph?: Uint8Array; readonly tokenizer?: Uint8Array } = {},
): TextPlan {
  const directory = temporaryDirectory()
  return {
    role: 'text',
    ...written(directory, 'text/model.onnx', files.graph),
    ...run,
    tokenizer: written(directory, 'text/tokenizer.json', files.tokenizer),
    template: '{title}\n{body}',
    tokens_max: 64,
    pooling: 'mean',
    normalize: true,
    dim: 32,
    inputs: { input_ids: 'input_ids', attention_mask: 'attention_mask', token_type_ids: 'token_type_ids' },
    output: 'last_hidden_state',
    pad_token_id: null,
    golden_tokens: [],
    ...changes,
  }
}

/** The example's image encoder. */
export function imagePlan(changes: Partial<ImagePlan> = {}, graph?: Uint8Array): ImagePlan {
  return {
    role: 'image',
    ...written(temporaryDirectory(), 'image/model.onnx', graph),
    ...run,
    input: 'pixel_values',
    output: 'patches',
    dim: 16,
    resize: { shortest_edge: 32 },
    pad: null,
    crop: { width: 32, height: 32 },
    interpolation: 'bicubic',
    channels: 'rgb',
    layout: 'nchw',
    scale: 1 / 255,
    mean: [0.485, 0.456, 0.406],
    std: [0.229, 0.224, 0.225],
    pool: 'mean',
    pooling: 'mean',
    required: false,
    ...changes,
  }
}

/** The example's tokenizer as a value, for tests that change it. */
export function exampleTokenizer(): Record<string, unknown> {
  return JSON.parse(new TextDecoder().decode(example['text/tokenizer.json'])) as Record<string, unknown>
}

/** A value as the bytes of its JSON. */
export function jsonBytes(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value))
}

function written(directory: string, name: string, bytes = example[name]): FilePlan {
  if (bytes === undefined) throw new Error(`the example has no ${name}`)
  const file = join(directory, name)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, bytes)
  return { file, sha256: createHash('sha256').update(bytes).digest('hex') }
}

function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'understudy-encoder-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}
