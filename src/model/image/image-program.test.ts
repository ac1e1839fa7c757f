/**
 * The image encoder as a program, with the real runtime, the example's graph and real JPEGs.
 */
import sharp from 'sharp'
import { describe, expect, test } from 'vitest'
import { mulberry32, silentLog } from '../../base/index.js'
import { GraphBuilder } from '../../../models/graph-builder.js'
import { elementTypes, type ElementType } from '../../../models/onnx-writer.js'
import { imagePlan } from '../../../test/helpers/encoder-plans.js'
import type { Vectors } from '../model.js'
import type { ImagePlan } from '../sessions/plans.js'
import { openImageProgram } from './image-program.js'

const jpegOf = (red: number, blue: number): Promise<Uint8Array> =>
  sharp({ create: { width: 70, height: 50, channels: 3, background: { r: red, g: 90, b: blue } } })
    .jpeg()
    .toBuffer()

async function open(plan: ImagePlan = imagePlan()) {
  const program = await openImageProgram(plan, silentLog)
  return program
}

const row = (reply: Vectors, index: number, dim = 16): number[] => [
  ...reply.vectors.subarray(index * dim, (index + 1) * dim),
]

describe('an image encoder', () => {
  test('encodes an image to the same vector in a batch of one and in several runs, also between unreadable ones', async () => {
    const program = await open()
    const images = await Promise.all(Array.from({ length: 19 }, (_, index) => jpegOf(10 * index, 200)))
    images[3] = Buffer.from('no image')
    images[12] = images[12]?.subarray(0, 100) ?? new Uint8Array(0)
    const all = await program.run({ items: images, budgetMs: null })
    expect([...all.encoded]).toEqual(images.map((_, index) => (index === 3 || index === 12 ? 0 : 1)))
    expect(row(all, 3)).toEqual(Array<number>(16).fill(0))
    for (const index of [0, 4, 11, 13, 18]) {
      const alone = row(await program.run({ items: images.slice(index, index + 1), budgetMs: null }), 0)
      row(all, index).forEach((value, at) => expect(Math.abs(value - (alone[at] ?? NaN))).toBeLessThan(1e-5))
    }
    expect(row(all, 0)).not.toEqual(row(all, 18))
  })

  test('returns nothing for no images, and zeros for images that cannot be read', async () => {
    const program = await open()
    expect((await program.run({ items: [], budgetMs: null })).encoded).toHaveLength(0)
    const reply = await program.run({ items: [new Uint8Array(0), Buffer.from('x')], budgetMs: null })
    expect([...reply.encoded]).toEqual([0, 0])
    const reason = expect.stringMatching(/^it cannot be read: /) as string
    expect(reply.failures).toEqual([0, 1].map((item) => ({ item, reason })))
    expect([...reply.vectors]).toEqual(Array<number>(32).fill(0))
  })

  test('pools tokens, cells and vectors as planned', async () => {
    // Every output holds the mean red, green and blue of the image, as one vector, as two tokens, as cells.
    const plan: Partial<ImagePlan> = { dim: 3, scale: 1 / 255, mean: [0, 0, 0], std: [1, 1, 1] }
    for (const [output, pool] of [
      ['vector', null],
      ['tokens', 'cls'],
      ['tokens', 'mean'],
      ['cells', 'mean'],
    ] as const) {
      const program = await open(imagePlan({ ...plan, output, pool }, colourGraph()))
      const [red, green, blue] = row(
        await program.run({ items: [await jpegOf(200, 30)], budgetMs: null }),
        0,
        3,
      )
      expect([red, green, blue].map((value) => Math.round((255 * (value ?? NaN)) / 10))).toEqual([20, 9, 3])
    }
  })

  test('of a hidden batch of one is refused, and runs with a batch of one', async () => {
    const single = { dim: 3, output: 'vector', pool: null } as const
    const graph = colourGraph('float32', 'N', 1)
    await expect(open(imagePlan(single, graph))).rejects.toThrow(
      /^a hidden batch of one: the graph runs one image and fails on more, although it declares any number\. Set batch to 1/,
    )
    const program = await open(imagePlan({ ...single, batch: 1 }, graph))
    const images = await Promise.all([jpegOf(200, 30), jpegOf(10, 250)])
    expect([...(await program.run({ items: images, budgetMs: null })).encoded]).toEqual([1, 1])
  })

  test('runs as many images at once as the manifest states', async () => {
    const single = { dim: 3, output: 'vector', pool: null } as const
    const images = await Promise.all([10, 60, 110, 160, 210].map((red) => jpegOf(red, 30)))
    const free = await open(imagePlan(single, colourGraph()))
    const expected = await free.run({ items: images, budgetMs: null })
    for (const batch of [1, 2]) {
      const fixed = await open(imagePlan({ ...single, batch }, colourGraph('float32', batch)))
      const reply = await fixed.run({ items: images, budgetMs: null })
      expect([...reply.encoded]).toEqual([1, 1, 1, 1, 1])
      reply.vectors.forEach((value, at) => expect(value).toBeCloseTo(expected.vectors[at] ?? NaN, 5))
    }
  })

  test.each(['float32', 'float64', 'float16', 'uint8'] as const)(
    'gives the same vectors from pixels as %s',
    async (element) => {
      // Bytes are normalised by the graph, other pixels here.
      const normalised = element === 'uint8' ? { mean: null, std: null } : { scale: 1, mean, std }
      const plan = imagePlan({ dim: 3, output: 'vector', pool: null, ...normalised }, colourGraph(element))
      const program = await open(plan)
      const images = await Promise.all([jpegOf(200, 30), jpegOf(10, 250)])
      const reply = await program.run({ items: images, budgetMs: null })
      const expected = [190, 70, 0, 0, 70, 220]
      // JPEG changes a colour by one or two.
      reply.vectors.forEach((value, at) => expect(Math.abs(value - (expected[at] ?? NaN))).toBeLessThan(3))
    },
  )
})

describe('an image encoder is not opened when', () => {
  const refused = (plan: ImagePlan, message: RegExp) =>
    expect(openImageProgram(plan, silentLog)).rejects.toThrow(message)

  test('its file has another hash', () =>
    refused({ ...imagePlan(), sha256: '0'.repeat(64) }, /model\.onnx has SHA-256/))

  test.each<[string, Partial<ImagePlan>, RegExp]>([
    [
      'its input has another name',
      { input: 'pixels' },
      /it has no input pixels; its inputs are pixel_values/,
    ],
    [
      'its images have another size',
      { crop: { width: 24, height: 24 } },
      /pixel_values must be float32, float64, float16 or uint8 \[N, 3, 24, 24\], but is float32 \[N, 3, 32, 32\]/,
    ],
    [
      'its layout is another',
      { layout: 'nhwc' },
      /must be float32, float64, float16 or uint8 \[N, 32, 32, 3\]/,
    ],
    ['there is no such output', { output: 'vector' }, /no output vector; its outputs are patches/],
    [
      'dim is another',
      { dim: 8 },
      /output patches must be float32, float64 or float16 \[N, 8\] or .* but is float32 \[N, 16, 4, 4\]/,
    ],
    [
      'cells are to be pooled by a class token',
      { pool: 'cls' },
      /must be float32, float64 or float16 \[N, 16\] or \[N, tokens, 16\], .*: an output of cells has no class token/,
    ],
    [
      'cells are not to be pooled',
      { pool: null },
      /must be float32, float64 or float16 \[N, 16\], .*: set image.pool/,
    ],
  ])('%s', (_, changes, message) => refused(imagePlan(changes), message))
})

const mean: [number, number, number] = [10, 20, 30]
const std: [number, number, number] = [1, 1, 1]

/**
 * The mean of each channel as `vector` [N, 3], `tokens` [N, 2, 3] and `cells` [N, 3, 32, 32] (the image itself). Bytes are
 * normalised first.
 */
function colourGraph(
  element: ElementType = 'float32',
  rows: number | string = 'N',
  rowsInside?: number,
): Uint8Array {
  const graph = new GraphBuilder(mulberry32(1))
  const cast = graph.add('Cast', ['pixel_values'], { to: { int: elementTypes.float32 } })
  const pixels =
    rowsInside === undefined ? cast : graph.add('Reshape', [cast, graph.integers(rowsInside, 3, 32, 32)])
  const subtracted = graph.floats([1, 3, 1, 1], Float32Array.from(element === 'uint8' ? mean : [0, 0, 0]))
  graph.add('Sub', [pixels, subtracted], {}, 'cells')
  graph.add('ReduceMean', ['cells'], { axes: { ints: [2, 3] }, keepdims: { int: 0 } }, 'vector')
  const token = graph.add('Unsqueeze', ['vector', graph.integers(1)])
  graph.add('Concat', [token, token], { axis: { int: 1 } }, 'tokens')
  return graph.write({
    name: 'colours',
    note: '',
    inputs: [{ name: 'pixel_values', shape: [rows, 3, 32, 32], element }],
    outputs: [
      { name: 'cells', shape: ['N', 3, 32, 32] },
      { name: 'vector', shape: ['N', 3] },
      { name: 'tokens', shape: ['N', 2, 3] },
    ],
  })
}
