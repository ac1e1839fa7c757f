/**
 * Verification accepts a graph's inputs and outputs if and only if its process serves them, and neither is stricter than
 * needed. Tested over families of right and wrong graphs: one is accepted if and only if it opens and runs a batch,
 * and none is refused whose outputs ONNX Runtime alone computes as required.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import * as ort from 'onnxruntime-node'
import { describe, expect, test } from 'vitest'
import { mulberry32, silentLog } from '../../base/index.js'
import { GraphBuilder } from '../../../models/graph-builder.js'
import { makeExample } from '../../../models/make-example.js'
import { elementTypes, type ElementType, type Port } from '../../../models/onnx-writer.js'
import { jsonBytes } from '../../../test/helpers/encoder-plans.js'
import {
  modelsDir as shipped,
  sigmoidGraph,
  temporaryModelsDir,
  writePackage,
} from '../../../test/helpers/model-packages.js'
import { readPackage, type ModelPackage } from '../package/read-package.js'
import { planModel, type ModelPlans } from '../sessions/plans.js'
import { openGraph } from '../sessions/graph-session.js'
import { openHeadsProgram } from '../sessions/heads-program.js'
import { openImageProgram } from '../image/image-program.js'
import { openTextProgram } from '../text/text-program.js'
import { portProblems } from './port-checks.js'

const [textDim, imageDim] = [2, 3]
const rowCount = 3
/** Element types of an encoder's output. */
const given = fc.constantFrom<ElementType>('float32', 'float32', 'float64', 'float16', 'int32')
/** No graph of these families has this size. */
const tokenCount = 5
const jpeg = readFileSync(join(shipped, 'example-1/golden/ball.jpg'))

type Shape = Port['shape']
const toFloat = { to: { int: elementTypes.float32 } }

describe('a graph is accepted by verification if and only if its process serves it, and if ONNX Runtime does', () => {
  test('as heads', () =>
    agree(
      fc.record({
        shape: shapes(
          ['N', 2],
          ['N', 2],
          ['N', 2],
          [-1, -1],
          null,
          ['N', 'M'],
          ['N', 1],
          [1, 2],
          ['N', 2, 1],
          ['N'],
        ),
        element: fc.constantFrom<ElementType>('float32', 'float64', 'float16', 'int64'),
        given: fc.constantFrom<ElementType>('float32', 'float64', 'float16', 'int32'),
        isReduced: fc.boolean(),
        column: fc.constantFrom(undefined, 0, 1, 2),
        input: fc.constantFrom('features', 'features', 'features', 'numbers'),
        isTraced: fc.boolean(),
      }),
      ({ shape, element, given, isReduced, column, input, isTraced }) => {
        const graph = new GraphBuilder(mulberry32(1))
        const share = graph.add('Sigmoid', [graph.add('Cast', [input], toFloat)])
        const one = isReduced
          ? graph.add('ReduceMean', [share], { axes: { ints: [1] }, keepdims: { int: 0 } })
          : share
        graph.add('Cast', [one], { to: { int: elementTypes[given] } }, 'probs')
        const inputs = [{ name: input, shape, element }]
        const rest = shape?.slice(0, 1).concat(shape.slice(2)) ?? null
        const outputs = [{ name: 'probs', shape: traced(isReduced ? rest : shape, isTraced), element: given }]
        const head = graph.write({ name: 'head', note: '', inputs, outputs })
        const output = { name: 'probs', ...(column === undefined ? {} : { column }) }
        return {
          graph: head,
          changes: {
            features: ['views_log', 'up_log'],
            head: {
              ...named('head.onnx', head),
              inputs: { features: 'features' },
              outputs: { p_up: output },
            },
          },
          member: 'head',
          feeds: (count) => ({ features: zeros(element === 'int64' ? 'float32' : element, [count, 2]) }),
          isCorrect: ({ probs }, count) => {
            const [rows, columnCount = 1, ...more] = probs?.dims ?? []
            const isNumbers = isFloat(probs)
            const isFound = column === undefined ? columnCount === 1 : column < columnCount
            return isNumbers && rows === count && more.length === 0 && isFound
          },
          // A graph that leaves its columns open fails in the first batch.
          isDeclared: shape !== null && (isReduced || (typeof shape[1] === 'number' && shape[1] > 0)),
        }
      },
      serveHeads,
    ))

  test('as a text encoder', () =>
    agree(
      fc.record({
        shape: shapes(['N', 'T'], ['N', 'T'], [-1, -1], null, [1, 'T'], ['N', 16], ['N', 'T', 'X']),
        element: fc.constantFrom<ElementType>('int64', 'int64', 'int64', 'int32', 'float32'),
        dim: fc.constantFrom(textDim, textDim, textDim + 1),
        isPooled: fc.boolean(),
        output: fc.constantFrom('last_hidden_state', 'last_hidden_state', 'pooled'),
        isUnexpected: fc.constantFrom(false, false, false, true),
        given,
        isTraced: fc.boolean(),
      }),
      ({ shape, element, dim, isPooled, output, isUnexpected, given, isTraced }) => {
        const graph = new GraphBuilder(mulberry32(1))
        const ids = graph.add('Cast', ['input_ids'], toFloat)
        const mask = graph.add('Cast', ['attention_mask'], toFloat)
        const wide = graph.add('Unsqueeze', [graph.add('Mul', [ids, mask]), graph.integers(-1)])
        const spread = graph.floats([dim], new Float32Array(dim).fill(0.5))
        const tokens = graph.add('Mul', [wide, spread])
        const vectors = isPooled
          ? graph.add('ReduceMean', [tokens], { axes: { ints: [1] }, keepdims: { int: 0 } })
          : tokens
        graph.add('Cast', [vectors], { to: { int: elementTypes[given] } }, output)
        const names = ['input_ids', 'attention_mask', ...(isUnexpected ? ['position_ids'] : [])]
        const declared = shape === null ? null : [...(isPooled ? shape.slice(0, 1) : shape), dim]
        const bytes = graph.write({
          name: 'text',
          note: '',
          inputs: names.map((name) => ({ name, shape, element })),
          outputs: [{ name: output, shape: traced(declared, isTraced), element: given }],
        })
        return {
          graph: bytes,
          changes: encoding('text', { ...named('text/model.onnx', bytes), ...textMembers }),
          member: 'text',
          feeds: (count) => {
            const shape = [count, tokenCount]
            return { input_ids: zeros('int64', shape), attention_mask: zeros('int64', shape) }
          },
          isCorrect: ({ last_hidden_state: tensor }, count) =>
            isFloat(tensor) &&
            [`${count},${textDim}`, `${count},${tokenCount},${textDim}`].includes(String(tensor?.dims)),
          isDeclared: shape !== null,
        }
      },
      serveText,
    ))

  test('as an image encoder', () =>
    agree(
      fc.record({
        shape: shapes(
          ['N', 3, 4, 4],
          ['N', 3, 4, 4],
          [-1, 3, -1, -1],
          null,
          [1, 3, 4, 4],
          ['N', 4, 4, 3],
          ['N', 3, 4],
        ),
        element: fc.constantFrom<ElementType>('float32', 'float32', 'float64', 'float16', 'uint8', 'int32'),
        hasBytes: fc.boolean(),
        given,
        layout: fc.constantFrom('nchw', 'nchw', 'nhwc'),
        form: fc.constantFrom('cells', 'tokens', 'vector'),
        pool: fc.constantFrom(undefined, 'cls', 'mean'),
        isTraced: fc.boolean(),
      }),
      ({ shape, element, hasBytes, given, layout, form, pool, isTraced }) => {
        const bytes = imageGraph({ shape, element, given, form, isTraced })
        const normalised = hasBytes ? { mean: undefined, std: undefined } : {}
        const members = { layout, ...(pool === undefined ? {} : { pool }), ...normalised }
        return {
          graph: bytes,
          changes: encoding('image', { ...named('image.onnx', bytes), ...imageMembers, ...members }),
          member: 'image',
          feeds: (count) => ({
            pixels: zeros(
              hasBytes ? 'uint8' : isFloatName(element) ? element : 'float32',
              layout === 'nchw' ? [count, 3, 4, 4] : [count, 4, 4, 3],
            ),
          }),
          isCorrect: ({ vectors: tensor }, count) => {
            const [rows, ...rest] = tensor?.dims ?? []
            const isOne = rest.length === 1 && rest[0] === imageDim
            const isTokens = rest.length === 2 && rest[1] === imageDim && pool !== undefined
            const isCells = rest.length === 3 && rest[0] === imageDim && pool === 'mean'
            return isFloat(tensor) && rows === count && (isOne || isTokens || isCells)
          },
          isDeclared: shape !== null,
        }
      },
      serveImages,
    ))
})

interface Delivery {
  readonly graph: Uint8Array
  readonly changes: Record<string, unknown>
  readonly member: 'head' | 'text' | 'image'
  /** The file declares everything that is checked. One that leaves a rank open may fail in its first batch only. */
  readonly isDeclared: boolean
  /** The inputs that its process would pass to it for so many rows. */
  readonly feeds: (count: number) => Record<string, ort.Tensor>
  /** Whether that is of use to its process. */
  readonly isCorrect: (outputs: ort.InferenceSession.OnnxValueMapType, count: number) => boolean
}

async function agree<Kind>(
  kinds: fc.Arbitrary<Kind>,
  deliver: (kind: Kind) => Delivery,
  serve: (plans: ModelPlans) => Promise<void>,
): Promise<void> {
  const modelsDir = temporaryModelsDir()
  let servedCount = 0
  await fc.assert(
    fc.asyncProperty(kinds, async (kind) => {
      const delivery = deliver(kind)
      const { graph, changes, member, isDeclared } = delivery
      writePackage(modelsDir, 'v', member === 'head' ? graph : sigmoidGraph, changes)
      writeFiles(join(modelsDir, 'v'), { ...encoderFiles, ...(member === 'head' ? {} : { [member]: graph }) })
      const modelPackage = await readPackage(modelsDir, 'v')
      const plans = planModel(modelPackage, { executionProviders: ['cpu'], log: silentLog })
      const verdict = await verdictOf(modelPackage, plans, member)
      const problem = await serve(plans).then(
        () => null,
        (error: unknown) => String(error),
      )
      if (problem === null) servedCount++
      if (await runsCorrectly(delivery)) expect(problem).toBeNull()
      if (problem === null) expect(verdict).toEqual([])
      else if (isDeclared) expect(verdict, problem).not.toEqual([])
    }),
    { numRuns: 150 },
  )
  expect(servedCount).toBeGreaterThan(0)
}

/** What verification finds wrong with the graph; none: it accepts it. */
async function verdictOf(
  { manifest }: ModelPackage,
  { heads, text, image }: ModelPlans,
  member: Delivery['member'],
): Promise<string[]> {
  const plan = { head: heads.graphs[0], text, image }[member]
  if (plan === undefined || plan === null) throw new Error(`there is no plan of ${member}`)
  try {
    const { ports } = await openGraph(plan, { problemsOf: () => [] }, silentLog)
    return portProblems(manifest, member, ports)
  } catch (error) {
    return [String(error)]
  }
}

/** Asks ONNX Runtime alone, without a rule of ours; a graph that does not run counts as incorrect. */
async function runsCorrectly({ graph, feeds, isCorrect }: Delivery): Promise<boolean> {
  const session = await ort.InferenceSession.create(graph, { logSeverityLevel: 4 }).catch(() => null)
  if (session === null) return false
  try {
    for (const count of [1, rowCount]) {
      if (!isCorrect(await session.run(feeds(count)), count)) return false
    }
    return true
  } catch {
    return false
  } finally {
    await session.release()
  }
}

const isFloatName = (type: string): boolean => /^float(16|32|64)$/.test(type)
const isFloat = (output: ort.OnnxValue | undefined): boolean => isFloatName(output?.type ?? '')

function zeros(element: ElementType, shape: readonly number[]): ort.Tensor {
  const count = shape.reduce((product, size) => product * size, 1)
  switch (element) {
    case 'float64':
      return new ort.Tensor('float64', new Float64Array(count), shape)
    case 'float16':
      return new ort.Tensor('float16', new Uint16Array(count), shape)
    case 'uint8':
      return new ort.Tensor('uint8', new Uint8Array(count), shape)
    case 'int64':
      return new ort.Tensor('int64', new BigInt64Array(count), shape)
    default:
      return new ort.Tensor('float32', new Float32Array(count), shape)
  }
}

/** The shape that an exporter declares for an output that it has seen once, in a batch of one. */
function traced(shape: Shape, isTraced: boolean): Shape {
  return shape === null || !isTraced ? shape : [1, ...shape.slice(1)]
}

async function serveHeads({ heads: plan }: ModelPlans): Promise<void> {
  const program = await openHeadsProgram(plan, silentLog)
  const zeroRows = (columnCount: number): Float32Array => new Float32Array(rowCount * columnCount)
  const matrices = {
    features: zeroRows(plan.widths.features),
    text: zeroRows(plan.widths.text),
    image: zeroRows(plan.widths.image),
    gallery_index: zeroRows(plan.widths.gallery_index),
  }
  await program.run({ count: rowCount, matrices })
}

async function serveText({ text }: ModelPlans): Promise<void> {
  if (text === null) throw new Error('there is no text encoder')
  const program = await openTextProgram(text, silentLog)
  const records = ['하나', '하나 둘 셋', '오늘'].map((title) => jsonBytes({ title }))
  const { encoded } = await program.run({ items: records, budgetMs: 60_000 })
  if (encoded.includes(0)) throw new Error('a text was not encoded')
}

async function serveImages({ image }: ModelPlans): Promise<void> {
  if (image === null) throw new Error('there is no image encoder')
  const program = await openImageProgram(image, silentLog)
  const { encoded } = await program.run({ items: [jpeg, jpeg, jpeg], budgetMs: null })
  if (encoded.includes(0)) throw new Error('an image was not encoded')
}

interface ImageGraphKind {
  readonly given: ElementType
  readonly shape: Shape
  readonly element: ElementType
  readonly form: string
  readonly isTraced: boolean
}

/** The mean of each channel as a vector, as two tokens, or the image itself as cells. */
function imageGraph({ shape, element, given, form, isTraced }: ImageGraphKind): Uint8Array {
  const graph = new GraphBuilder(mulberry32(1))
  const cells = graph.add('Cast', ['pixels'], toFloat)
  const vector = (): string =>
    graph.add('ReduceMean', [cells], { axes: { ints: [-2, -1] }, keepdims: { int: 0 } })
  const tokens = (): string => {
    const token = graph.add('Unsqueeze', [vector(), graph.integers(1)])
    return graph.add('Concat', [token, token], { axis: { int: 1 } })
  }
  const vectors = form === 'cells' ? cells : form === 'vector' ? vector() : tokens()
  graph.add('Cast', [vectors], { to: { int: elementTypes[given] } }, 'vectors')
  const [rows = 'N', channels = imageDim] = shape ?? []
  const declared = { cells: shape, vector: [rows, channels], tokens: [rows, 2, channels] }[form] ?? null
  return graph.write({
    name: 'image',
    note: '',
    inputs: [{ name: 'pixels', shape, element }],
    outputs: [{ name: 'vectors', shape: shape === null ? null : traced(declared, isTraced), element: given }],
  })
}

const encoderFiles = { 'text/tokenizer.json': makeExample()['text/tokenizer.json']! }
const textMembers = {
  tokenizer: named('text/tokenizer.json', encoderFiles['text/tokenizer.json']),
  template: '{title}',
  tokens_max: 16,
  pooling: 'mean',
  dim: textDim,
}
const imageMembers = {
  input: 'pixels',
  output: 'vectors',
  dim: imageDim,
  pooling: 'mean',
  resize: { width: 4, height: 4 },
  mean: [0, 0, 0],
  std: [1, 1, 1],
}

/** Members of a manifest whose head reads an encoder. */
function encoding(name: 'text' | 'image', encoder: object): Record<string, unknown> {
  const head = { ...named('head.onnx', sigmoidGraph), inputs: { [name]: 'features' } }
  return { head: { ...head, outputs: { p_up: { name: 'probs' } } }, [name]: encoder }
}

function named(file: string, bytes: Uint8Array): { file: string; sha256: string } {
  return { file, sha256: createHash('sha256').update(bytes).digest('hex') }
}

function shapes(...all: readonly Shape[]): fc.Arbitrary<Shape> {
  return fc.constantFrom(...all)
}

function writeFiles(directory: string, files: Record<string, Uint8Array>): void {
  const names: Record<string, string> = { text: 'text/model.onnx', image: 'image.onnx' }
  for (const [name, bytes] of Object.entries(files)) {
    const file = join(directory, names[name] ?? name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, bytes)
  }
}
