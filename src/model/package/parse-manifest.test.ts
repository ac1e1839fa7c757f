/**
 * Manifests whose members contradict each other: the message names the member and what to change.
 */
import { describe, expect, test } from 'vitest'
import { ModelError } from '../model.js'
import type { HeadManifest, HeadOutput, ImageManifest, Manifest } from './manifest.js'
import { parseEncoders, parseManifest } from './parse-manifest.js'

const sha256 = 'a'.repeat(64)
const head: HeadManifest = {
  file: 'head.onnx',
  sha256,
  inputs: { features: 'features' },
  outputs: { p_up: { name: 'probs', column: 1 } },
}
const manifest: Manifest = { model_version: 'v', kind: 'trained', features: ['views_log', 'up_log'], head }
const image: ImageManifest = {
  file: 'image.onnx',
  sha256,
  input: 'pixels',
  output: 'vectors',
  dim: 4,
  pooling: 'mean',
  resize: { width: 8, height: 8 },
}

/** The problems of the manifest with these changes, without the name of the file; none: it is valid. */
function problems(changes: Partial<Manifest>): string[] {
  try {
    parseManifest(JSON.stringify({ ...manifest, ...changes }), 'm')
    return []
  } catch (error) {
    if (!(error instanceof ModelError)) throw error
    return error.message.split('\n').map((line) => line.replace(/^m: /, ''))
  }
}

describe('an output of heads', () => {
  const problemsOf = (p_up: HeadOutput): string[] => problems({ head: { ...head, outputs: { p_up } } })

  test.each<[string, HeadOutput]>([
    ['of two logits', { name: 'logits', column: 1, activation: 'softmax', scale: 0.5 }],
    ['of a regressor', { name: 'y', scale: -0.01, offset: 1, activation: 'clip' }],
    ['of another layout', { name: 'y', column: 2, squeeze: true, transposed: true }],
  ])('%s is valid', (_, output) => expect(problemsOf(output)).toEqual([]))

  test.each<[string, HeadOutput, string]>([
    [
      'softmax without a column',
      { name: 'logits', activation: 'softmax' },
      'head.outputs.p_up.column is required for the activation softmax',
    ],
    [
      'softmax with an offset',
      { name: 'logits', column: 1, activation: 'softmax', offset: 1 },
      'head.outputs.p_up.offset has no effect with the activation softmax',
    ],
    [
      'a factor of zero',
      { name: 'y', scale: 0 },
      'head.outputs.p_up.scale must not be 0: all posts would have one value',
    ],
  ])('is refused with %s', (_, output, problem) => expect(problemsOf(output)).toEqual([problem]))
})

describe('inputs of heads for parts of the features', () => {
  const problemsOf = (features: string[]): string[] => problems({ head: { ...head, inputs: { features } } })

  test.each<[string, string[], string[]]>([
    ['several, of any number of columns', ['views', 'others'], []],
    ['one twice', ['views', 'views'], ['head.inputs must have different names']],
    ['none', [], ['head.inputs.features must be an array of at least 1 item, not []']],
  ])('%s', (_, features, expected) => expect(problemsOf(features)).toEqual(expected))
})

describe('galleries', () => {
  const inputs = { features: 'features', gallery_index: 'gallery' }
  const notAnId = 'galleries[1] must be Unicode text of at most 1024 characters, not'
  const problemsOf = (galleries?: string[]): string[] =>
    problems({ head: { ...head, inputs }, ...(galleries === undefined ? {} : { galleries }) })

  test.each<[string, string[] | undefined, string[]]>([
    ['of any names', ['programming', '등산', 'x'.repeat(1024)], []],
    ['that are absent', undefined, ['galleries is required, since a head has an input gallery_index']],
    ['that are none', [], ['galleries must be an array of 1 to 100000 items, not []']],
    ['with one twice', ['a', 'b', 'a'], ['galleries must not name a gallery twice: a']],
    ['with an empty name', ['a', ''], ['galleries[1] must not be empty']],
    ['with a long name', ['a', 'x'.repeat(1025)], [`${notAnId} "${'x'.repeat(199)}…`]],
    ['with a name of long characters', ['a', '😀'.repeat(1024)], []],
    ['with half of a surrogate pair', ['a', '\ud83d'], [`${notAnId} "\\ud83d"`]],
  ])('%s', (_, galleries, expected) => expect(problemsOf(galleries)).toEqual(expected))

  test('have no effect without an input', () => {
    expect(problems({ galleries: ['a'] })).toEqual([
      'galleries has no effect: no head has an input gallery_index',
    ])
  })
})

describe('an image encoder', () => {
  const problemsOf = (changes: Partial<ImageManifest>): string[] =>
    problems({ head: { ...head, inputs: { image: 'image' } }, image: { ...image, ...changes } })

  test.each<[string, Partial<ImageManifest>, string[]]>([
    ['of bytes', {}, []],
    ['of floats', { scale: 1, mean: [0, 0, 0], std: [1, 1, 1] }, []],
    ['with padding', { pad: { color: [0, 0, 0], side: 'both' } }, []],
    [
      'with padding of no size',
      { resize: { shortest_edge: 8 }, crop: { width: 8, height: 8 }, pad: { color: [0, 0, 0], side: 'end' } },
      ['image.pad needs image.resize.width and image.resize.height: the size with the padding'],
    ],
    ['with a mean alone', { mean: [0, 0, 0] }, ['image.mean and image.std require each other']],
    ['with a divisor alone', { std: [1, 1, 1] }, ['image.mean and image.std require each other']],
    ['with a factor alone', { scale: 1 }, ['image.scale requires image.mean and image.std']],
  ])('%s', (_, changes, expected) => expect(problemsOf(changes)).toEqual(expected))
})

describe('a manifest for its encoders alone', () => {
  const headless = { model_version: 'v', kind: 'trained', image }
  const parsed = (changes: object): Manifest =>
    parseEncoders(JSON.stringify({ ...headless, ...changes }), 'm')

  test('may have no head', () => {
    expect(parsed({})).toEqual({ ...headless, head: [] })
    expect(parsed({ head: [] })).toEqual({ ...headless, head: [] })
  })

  test.each([
    ['another member', { kind: 'x', head: [] }, 'm: kind must be one of trained, transport-test, not "x"'],
    ['a contradiction', { image: { ...image, scale: 1 } }, 'm: image.scale requires'],
    [
      'a head that reads another input',
      { features: ['views_log'], head },
      'm: there is a image encoder, and no head',
    ],
  ])('is refused for %s', (_, changes, message) => expect(() => parsed(changes)).toThrow(message))
})
