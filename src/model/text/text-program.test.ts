/**
 * The text encoder as a program, with the real runtime and the example's graph and tokenizer.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { mulberry32, silentLog } from '../../base/index.js'
import { exampleTokenizer, jsonBytes, textPlan } from '../../../test/helpers/encoder-plans.js'
import { GraphBuilder } from '../../../models/graph-builder.js'
import { koreanTokenizer } from '../../../models/korean-tokenizer.js'
import { transformerGraph } from '../../../models/transformer.js'
import type { Vectors } from '../model.js'
import type { TextPlan } from '../sessions/plans.js'
import { openTextProgram } from './text-program.js'

const dim = 32
const always = 1e9
const record = (title: string, body?: string): Uint8Array =>
  jsonBytes({ title, ...(body === undefined ? {} : { body_html: body }) })

async function open(plan: TextPlan = textPlan()) {
  const program = await openTextProgram(plan, silentLog)
  return {
    program,
    encode: (items: readonly Uint8Array[], budgetMs = always) => program.run({ items, budgetMs }),
  }
}

const row = (reply: Vectors, index: number): number[] => [
  ...reply.vectors.subarray(index * dim, (index + 1) * dim),
]

function expectClose(actual: readonly number[], expected: readonly number[], tolerance = 1e-5): void {
  expect(actual).toHaveLength(expected.length)
  actual.forEach((value, index) => expect(Math.abs(value - (expected[index] ?? NaN))).toBeLessThan(tolerance))
}

describe('a text encoder', () => {
  test('encodes a text to the same vector in a batch of one and in any other batch', async () => {
    const { encode } = await open()
    const words = fc.array(
      fc.constantFrom('오늘', '진짜', 'ㅋㅋㅋ', 'ok!', '후기', '<p>', '글&amp;', '1234'),
      {
        minLength: 1,
        maxLength: 70,
      },
    )
    const posts = fc.array(fc.tuple(words, words), { minLength: 2, maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(posts, fc.nat(), async (list, pick) => {
        const records = list.map(([title, body]) => record(title.join(' '), body.join(' ')))
        const index = pick % records.length
        const all = await encode(records)
        const alone = await encode(records.slice(index, index + 1))
        expect([...all.encoded]).toEqual(records.map(() => 1))
        expectClose(row(all, index), row(alone, 0))
      }),
      { numRuns: 25 },
    )
  })

  test('encodes different texts to different vectors, each of length 1 if normalised', async () => {
    const { encode } = await open()
    const reply = await encode([record('오늘 축구'), record('오늘 야구'), record('오늘 축구', '본문')])
    const vectors = [0, 1, 2].map((index) => row(reply, index))
    for (const vector of vectors) expect(Math.hypot(...vector)).toBeCloseTo(1, 5)
    expect(
      Math.hypot(...(vectors[0] ?? []).map((value, i) => value - (vectors[1]?.[i] ?? 0))),
    ).toBeGreaterThan(0.01)
    expect(vectors[0]).not.toEqual(vectors[2])
  })

  test('pools by the first token when planned', async () => {
    const [mean, cls] = [await open(), await open(textPlan({ pooling: 'cls' }))]
    const records = [record('오늘 진짜 후기'), record('글')]
    expect(row(await mean.encode(records), 0)).not.toEqual(row(await cls.encode(records), 0))
    expectClose(row(await cls.encode(records), 1), row(await cls.encode(records.slice(1)), 0))
  })

  test('passes no token types to a graph without that input', async () => {
    const { vocabularyCount } = koreanTokenizer()
    const graph = transformerGraph({
      layerCount: 1,
      width: dim,
      headCount: 2,
      hiddenWidth: 32,
      vocabularyCount,
      tokensMax: 64,
      hasTypeIds: false,
      seed: 1,
      note: '',
    })
    const { encode } = await open(textPlan({}, { graph }))
    expect([...(await encode([record('오늘')])).encoded]).toEqual([1])
  })

  test('runs as many texts at once as the manifest states: one without padding', async () => {
    const records = ['하나', '하나 둘 셋', '오늘 진짜 후기'].map((title) => record(title))
    const expected = await (await open(textPlan({}, { graph: embeddingGraph({}) }))).encode(records)
    for (const batch of [1, 2]) {
      const { encode } = await open(textPlan({ batch }, { graph: embeddingGraph({ rows: batch }) }))
      const reply = await encode(records)
      expect([...reply.encoded]).toEqual([1, 1, 1])
      expectClose([...reply.vectors], [...expected.vectors])
    }
  })

  test('uses a pooled output unchanged', async () => {
    const graph = embeddingGraph({ isPooled: true })
    const { encode } = await open(textPlan({ normalize: false, output: 'pooled' }, { graph }))
    const reply = await encode([record('오늘'), record('오늘 진짜 후기')])
    // The graph sums the ids of a row: [CLS] 2, words, [SEP] 3.
    expect(row(reply, 0)).toEqual(Array<number>(dim).fill(2 + 595 + 3))
  })
})

describe('a text encoder whose graph', () => {
  test('has fewer tokens than the tokenizer is opened, with a warning', async () => {
    const warnings: string[] = []
    const warn = (_: object, message: string): void => void warnings.push(message)
    const graph = embeddingGraph({ vocabularyCount: 1200 })
    await openTextProgram(textPlan({}, { graph }), { ...silentLog, warn })
    expect(warnings).toEqual([
      expect.stringMatching(
        /^an oversized vocabulary: the tokenizer has ids up to 1224, and the graph fails on the largest/,
      ),
    ])
    await openTextProgram(textPlan({}, { graph: embeddingGraph({}) }), { ...silentLog, warn })
    expect(warnings).toHaveLength(1)
  })

  test('declares any number of texts and runs one is refused, and runs with a batch of one', async () => {
    const graph = embeddingGraph({ hasOneRow: true })
    await expect(openTextProgram(textPlan({}, { graph }), silentLog)).rejects.toThrow(
      /^a hidden batch of one: the graph runs one text and fails on more, although it declares any number\. Set batch to 1/,
    )
    const { encode } = await open(textPlan({ batch: 1 }, { graph }))
    expect([...(await encode([record('하나'), record('하나 둘')])).encoded]).toEqual([1, 1])
  })
})

describe('a record is not encoded, and the others are, when', () => {
  test('it is not a record with a title', async () => {
    const { encode } = await open()
    const reply = await encode([
      record('하나'),
      Buffer.from('{"titl'),
      jsonBytes({ title: null }),
      record('둘'),
    ])
    expect([...reply.encoded]).toEqual([1, 0, 0, 1])
    expect(row(reply, 1)).toEqual(Array<number>(dim).fill(0))
    expectClose(row(reply, 3), row(await encode([record('둘')]), 0))
  })

  test('it has no tokens at all', async () => {
    const tokenizer = jsonBytes({ ...exampleTokenizer(), post_processor: null })
    const { encode } = await open(textPlan({ template: '{title}' }, { tokenizer }))
    expect([...(await encode([record(' '), record('글')])).encoded]).toEqual([0, 1])
  })

  test('it has a token that is not in the vocabulary of the graph', async () => {
    const graph = embeddingGraph({ isPooled: false, vocabularyCount: 1200 })
    const { encode } = await open(textPlan({ normalize: false }, { graph }))
    // The ids of such endings, the last of the tokenizer's 1225, are beyond the graph's 1200.
    const reply = await encode([record('글'), record('글했는데'), record('오늘')])
    expect([...reply.encoded]).toEqual([1, 0, 1])
    const reason = expect.stringMatching(/Gather.*out of data bounds/) as string
    expect(reply.failures).toEqual([{ item: 1, reason }])
    expect(await encode([record('글했는데')])).toMatchObject({ failures: [{ item: 0, reason }] })
  })

  test('its graph returns an error, however many such texts a batch has', async () => {
    const graph = embeddingGraph({ isPooled: false, vocabularyCount: 1200 })
    const { encode } = await open(textPlan({ normalize: false }, { graph }))
    const isBad = Array.from({ length: 60 }, (_, item) => item % 7 === 3 || item > 50)
    const { encoded, failures = [] } = await encode(isBad.map((bad) => record(bad ? '글했는데' : '글')))
    expect([...encoded]).toEqual(isBad.map((bad) => (bad ? 0 : 1)))
    expect(failures.map(({ item }) => item).sort((a, b) => a - b)).toEqual(
      isBad.flatMap((bad, item) => (bad ? [item] : [])),
    )
  })

  test('its vector is not finite', async () => {
    const graph = embeddingGraph({ isPooled: false, divides: true })
    const { encode } = await open(textPlan({ normalize: false }, { graph }))
    // The graph divides by id - 595, and 595 is 오늘.
    const reply = await encode([record('글'), record('오늘')])
    expect([...reply.encoded]).toEqual([1, 0])
    expect(reply.failures).toEqual([{ item: 1, reason: 'its vector is not finite' }])
  })
})

test('past the budget the remaining texts stay unencoded, but the first batch always runs', async () => {
  const { encode } = await open()
  const records = Array.from({ length: 200 }, (_, index) => record(`글 ${index}`, '진짜 '.repeat(80)))
  const none = await encode(records, 0)
  const count = none.encoded.reduce((sum, flag) => sum + flag, 0)
  expect(count).toBeGreaterThan(0)
  expect(count).toBeLessThan(200)
  expect([...none.vectors.subarray(-dim)]).toEqual(Array<number>(dim).fill(0))
  expect([...(await encode(records)).encoded]).not.toContain(0)
})

test('past the budget, a batch with a text that fails ends after one text is encoded or known to fail', async () => {
  const graph = embeddingGraph({ isPooled: false, vocabularyCount: 1200 })
  const { encode } = await open(textPlan({ normalize: false }, { graph }))
  const { encoded, failures = [] } = await encode(
    ['글했는데', '글', '글', '글'].map((title) => record(title)),
    0,
  )
  expect([[...encoded], failures.map(({ item }) => item)]).toEqual([[0, 0, 0, 0], [0]])
})

test('a request without texts gives an empty reply', async () => {
  const { encode } = await open()
  expect(await encode([])).toMatchObject({ encoded: new Uint8Array(0) })
})

describe('a text encoder is not opened when', () => {
  const refused = (plan: TextPlan, message: RegExp) =>
    expect(openTextProgram(plan, silentLog)).rejects.toThrow(message)

  test('a file has another hash', async () => {
    const plan = textPlan()
    await refused({ ...plan, sha256: '0'.repeat(64) }, /model\.onnx has SHA-256 .*; the manifest states 0000/)
    await refused(
      { ...plan, tokenizer: { ...plan.tokenizer, sha256: '0'.repeat(64) } },
      /tokenizer\.json has SHA-256/,
    )
  })

  test('its graph fails on tokens_max tokens', () =>
    refused(textPlan({ tokens_max: 65 }), /fails on a row of 65 tokens/))

  test('golden tokens differ', () =>
    refused(
      textPlan({ golden_tokens: [{ text: '오늘', ids: [1, 2] }] }),
      /golden_tokens: "오늘" has tokens 2 595 3 here/,
    ))

  test.each<[string, Partial<TextPlan>, RegExp]>([
    [
      'dim differs',
      { dim: 16 },
      /output last_hidden_state must be float32, float64 or float16 \[N, tokens, 16\] or \[N, 16\], but is/,
    ],
    ['there is no such output', { output: 'pooled' }, /no output pooled; its outputs are last_hidden_state/],
    [
      'its inputs have other names',
      { inputs: { input_ids: 'ids', attention_mask: 'attention_mask', token_type_ids: 'token_type_ids' } },
      /no input ids; its inputs are input_ids, attention_mask, token_type_ids/,
    ],
    [
      'it has another input',
      { inputs: { input_ids: 'input_ids', attention_mask: 'attention_mask', token_type_ids: 'types' } },
      /the manifest does not name the graph's input token_type_ids/,
    ],
  ])('%s', (_, changes, message) => refused(textPlan(changes), message))
})

/** A graph whose token vectors are the ids themselves (or 1 / (id - 595)), embedded up in a table of `vocabularyCount`. */
function embeddingGraph({
  isPooled = false,
  divides = false,
  vocabularyCount = 1300,
  rows = 'N' as number | string,
  hasOneRow = false,
}): Uint8Array {
  const graph = new GraphBuilder(mulberry32(1))
  const ids = Float32Array.from({ length: vocabularyCount * dim }, (_, index) => Math.floor(index / dim))
  const mask = graph.add('Cast', ['attention_mask'], { to: { int: 1 } })
  const wide = graph.add('Unsqueeze', [mask, graph.integers(2)])
  const embedded = graph.add('Gather', [graph.floats([vocabularyCount, dim], ids), 'input_ids'])
  const product = graph.add('Mul', [embedded, wide])
  const masked = hasOneRow ? graph.add('Reshape', [product, graph.integers(1, 0, dim)]) : product
  if (isPooled) graph.add('ReduceSum', [masked, graph.integers(1)], { keepdims: { int: 0 } }, 'pooled')
  else if (divides) {
    const rest = graph.add('Sub', [masked, graph.floats([1], Float32Array.of(595))])
    graph.add('Reciprocal', [rest], {}, 'last_hidden_state')
  } else graph.add('Identity', [masked], {}, 'last_hidden_state')
  return graph.write({
    name: 'ids',
    note: '',
    inputs: ['input_ids', 'attention_mask'].map((name) => ({ name, shape: [rows, 'T'], element: 'int64' })),
    outputs: isPooled
      ? [{ name: 'pooled', shape: ['N', dim] }]
      : [{ name: 'last_hidden_state', shape: ['N', 'T', dim] }],
  })
}
