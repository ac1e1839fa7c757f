/**
 * A tokenizer.json as the model team delivers it: cut, framed, padded, and checked against the training's tokens.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { exampleTokenizer, jsonBytes } from '../../../test/helpers/encoder-plans.js'
import { openTokenizer, type TextTokenizer, type TokenizerOptions } from './tokenizer.js'

const plain: TokenizerOptions = { tokens_max: 16, pad_token_id: null, golden_tokens: [] }
const [cls, sep] = [2, 3]

function open(
  changes: Record<string, unknown> = {},
  options: Partial<TokenizerOptions> = {},
): Promise<TextTokenizer> {
  return openTokenizer(jsonBytes({ ...exampleTokenizer(), ...changes }), { ...plain, ...options })
}

describe('a row of tokens', () => {
  const words = fc.array(fc.constantFrom('오늘', '진짜', 'ㅋㅋㅋㅋ', 'ok!', '中', '후기', '1234', '\n'), {
    maxLength: 60,
  })

  test('keeps its special tokens when it is cut, and is the beginning of the uncut row', async () => {
    const short = await open()
    const long = await open({}, { tokens_max: 4096 })
    await fc.assert(
      fc.asyncProperty(words, async (list) => {
        const text = list.join(' ')
        const [{ ids: cut }, { ids: whole }] = [await short.encode(text), await long.encode(text)]
        expect(cut.length).toBe(Math.min(whole.length, 16))
        expect([cut[0], cut.at(-1)]).toEqual([cls, sep])
        expect(cut.slice(0, -1)).toEqual(whole.slice(0, cut.length - 1))
      }),
    )
  })

  test('is not cut one token too early', async () => {
    const whole = (await open({}, { tokens_max: 4096 })).encode('오늘 진짜 ok! 후기')
    const { ids } = await whole
    for (const [tokensMax, expected] of [
      [ids.length - 1, [...ids.slice(0, -2), sep]],
      [ids.length, ids],
      [ids.length + 1, ids],
    ] as const)
      expect((await (await open({}, { tokens_max: tokensMax })).encode('오늘 진짜 ok! 후기')).ids).toEqual(
        expected,
      )
  })

  test('of a very long text is that of its beginning', async () => {
    const text = '오늘 진짜 사진 후기 '.repeat(50_000)
    const tokenizer = await open()
    expect(await tokenizer.encode(text)).toEqual(await tokenizer.encode(text.slice(0, 200)))
  })

  test('of long words that are one unknown token each is full', async () => {
    const words = Array.from({ length: 2000 }, () => `${'x'.repeat(40)}€`).join(' ')
    const long = await open({}, { tokens_max: 602 })
    expect((await long.encode(words)).ids).toEqual([cls, ...Array<number>(600).fill(1), sep])
    expect((await (await open()).encode('x'.repeat(100_000))).ids).toEqual([cls, 1, sep])
  })

  test('has the token types of the post-processor', async () => {
    const special = (id: string, type_id: number) => ({ SpecialToken: { id, type_id } })
    const token = (id: string, number: number) => ({ id, ids: [number], tokens: [id] })
    const post_processor = {
      type: 'TemplateProcessing',
      single: [special('[CLS]', 2), { Sequence: { id: 'A', type_id: 1 } }, special('[SEP]', 0)],
      pair: [{ Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 1 } }],
      special_tokens: { '[CLS]': token('[CLS]', cls), '[SEP]': token('[SEP]', sep) },
    }
    const { ids, typeIds } = await (await open({ post_processor })).encode('오늘 ㅋㅋ')
    expect(typeIds).toEqual([2, ...ids.slice(2).map(() => 1), 0])
  })

  test('has no special tokens when the tokenizer adds none, and is empty for an empty text', async () => {
    const bare = await open({ post_processor: null })
    expect((await bare.encode('')).ids).toEqual([])
    expect((await bare.encode('오늘')).ids).toEqual((await (await open()).encode('오늘')).ids.slice(1, -1))
  })

  test('is neither cut nor padded by what the file states', async () => {
    const truncation = { direction: 'Right', max_length: 3, strategy: 'LongestFirst', stride: 0 }
    const padding = {
      strategy: { Fixed: 12 },
      direction: 'Right',
      pad_to_multiple_of: null,
      pad_id: 0,
      pad_type_id: 0,
      pad_token: '[PAD]',
    }
    const text = '오늘 진짜 ok!'
    expect(await (await open({ truncation, padding })).encode(text)).toEqual(
      await (await open()).encode(text),
    )
  })
})

describe('the padding token', () => {
  const padding = {
    strategy: 'BatchLongest',
    direction: 'Right',
    pad_to_multiple_of: null,
    pad_id: 4,
    pad_type_id: 0,
    pad_token: '[PAD]',
  }
  const added = [
    {
      id: 0,
      content: '[PAD]',
      special: true,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
    },
  ]

  test('is the option, else that of the padding, else a known padding token, else 0', async () => {
    expect((await open({ padding }, { pad_token_id: 9 })).padTokenId).toBe(9)
    expect((await open({ padding })).padTokenId).toBe(4)
    const pad = [{ ...added[0], id: 7, content: '<pad>' }]
    const model = { type: 'WordLevel', vocab: { '[UNK]': 0, '<pad>': 7 }, unk_token: '[UNK]' }
    expect((await open({ added_tokens: pad, model, post_processor: null })).padTokenId).toBe(7)
    expect((await open({ added_tokens: [], post_processor: null })).padTokenId).toBe(0)
  })
})

describe('a tokenizer is refused when', () => {
  test('golden tokens differ: more, fewer or other ids', async () => {
    for (const ids of [
      [2, 595],
      [2, 595, 3, 3],
      [2, 596, 3],
    ])
      await expect(open({}, { golden_tokens: [{ text: '오늘', ids }] })).rejects.toThrow(
        `golden_tokens: "오늘" has tokens 2 595 3 here, but ${ids.join(' ')} in training`,
      )
    await open({}, { golden_tokens: [{ text: '오늘', ids: [2, 595, 3] }] })
  })

  test('tokens_max leaves no room for text', async () => {
    await expect(open({}, { tokens_max: 2 })).rejects.toThrow(/tokens_max 2 leaves no room/)
    expect((await (await open({}, { tokens_max: 3 })).encode('오늘 진짜')).ids).toEqual([2, 595, 3])
  })

  test('a part of it is unknown', () =>
    expect(open({ normalizer: { type: 'Magic' } })).rejects.toThrow(/^the tokenizer cannot be used: /))

  test('it is not JSON', () =>
    expect(openTokenizer(Buffer.from('no'), plain)).rejects.toThrow(/the tokenizer is not JSON/))
})

test('the unknown token of a WordLevel vocabulary is used if the vocabulary has it', async () => {
  const model = { type: 'WordLevel', vocab: { '[UNK]': 0, 오늘: 1 }, unk_token: '[UNK]' }
  const pre_tokenizer = { type: 'WhitespaceSplit' }
  const changes = { added_tokens: [], normalizer: null, post_processor: null, pre_tokenizer }
  expect((await (await open({ ...changes, model })).encode('오늘 진짜 오늘')).ids).toEqual([1, 0, 1])
  const without = await open({ ...changes, model: { ...model, vocab: { 오늘: 1 } } })
  expect((await without.encode('오늘')).ids).toEqual([1])
  await expect(without.encode('진짜')).rejects.toThrow(/unk/i)
})

test('the largest id is that of the vocabulary or of an added token', async () => {
  const { vocab } = exampleTokenizer()['model'] as { vocab: Record<string, number> }
  expect((await open()).idMax).toBe(Math.max(...Object.values(vocab)))
  const added = { special: true, single_word: false, lstrip: false, rstrip: false, normalized: false }
  expect((await open({ added_tokens: [{ id: 70_000, content: '[EXTRA]', ...added }] })).idMax).toBe(70_000)
  const pieces = [
    ['<unk>', 0],
    ['\u2581', -1],
    ['b', -2],
  ]
  const unigram = { type: 'Unigram', unk_id: 0, vocab: pieces }
  const bare = { added_tokens: [], normalizer: null, pre_tokenizer: null, post_processor: null }
  expect((await open({ ...bare, model: unigram })).idMax).toBe(2)
})
