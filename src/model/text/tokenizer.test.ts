/**
 * A tokenizer.json as the model team delivers it: cut, framed, padded, and checked against the training's tokens.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { exampleTokenizer, jsonBytes } from '../../../test/helpers/encoder-plans.js'
import { mergesUnknownWords, openTokenizer, type TokenizerOptions } from './tokenizer.js'

const plain: TokenizerOptions = { tokens_max: 16, pad_token_id: null, golden_tokens: [] }
const [cls, sep] = [2, 3]

function open(changes: Record<string, unknown> = {}, options: Partial<TokenizerOptions> = {}) {
  return openTokenizer(jsonBytes({ ...exampleTokenizer(), ...changes }), { ...plain, ...options })
}

describe('a row of tokens', () => {
  const words = fc.array(fc.constantFrom('오늘', '진짜', 'ㅋㅋㅋㅋ', 'ok!', '中', '후기', '1234', '\n'), {
    maxLength: 60,
  })

  test('keeps its special tokens when it is cut, and is the beginning of the uncut row', () => {
    const short = open()
    const long = open({}, { tokens_max: 4096 })
    fc.assert(
      fc.property(words, (list) => {
        const text = list.join(' ')
        const [cut, whole] = [short.encode(text).ids, long.encode(text).ids]
        expect(cut.length).toBe(Math.min(whole.length, 16))
        expect([cut[0], cut.at(-1)]).toEqual([cls, sep])
        expect(cut.slice(0, -1)).toEqual(whole.slice(0, cut.length - 1))
      }),
    )
  })

  test('of a very long text is that of its beginning', () => {
    const text = '오늘 진짜 사진 후기 '.repeat(50_000)
    expect(open().encode(text)).toEqual(open().encode(text.slice(0, 200)))
  })

  test('of long words that are one unknown token each is full', () => {
    const words = Array.from({ length: 2000 }, () => `${'x'.repeat(40)}€`).join(' ')
    expect(open({}, { tokens_max: 602 }).encode(words).ids).toEqual([cls, ...Array<number>(600).fill(1), sep])
    expect(open().encode('x'.repeat(100_000)).ids).toEqual([cls, 1, sep])
  })

  test('has the token types of the post-processor', () => {
    const special = (id: string, type_id: number) => ({ SpecialToken: { id, type_id } })
    const post_processor = {
      type: 'TemplateProcessing',
      single: [special('[CLS]', 2), { Sequence: { id: 'A', type_id: 1 } }, special('[SEP]', 0)],
      pair: [],
      special_tokens: {},
    }
    const { ids, typeIds } = open({ post_processor }).encode('오늘 ㅋㅋ')
    expect(typeIds).toEqual([2, ...ids.slice(2).map(() => 1), 0])
  })

  test('has no special tokens when the tokenizer adds none, and is empty for an empty text', () => {
    const bare = open({ post_processor: null })
    expect(bare.encode('').ids).toEqual([])
    expect(bare.encode('오늘').ids).toEqual(open().encode('오늘').ids.slice(1, -1))
  })
})

describe('the padding token', () => {
  test('is the option, else that of the padding, else a known padding token, else 0', () => {
    const added = [{ id: 7, content: '<pad>', special: true }]
    expect(open({ added_tokens: added }, { pad_token_id: 9 }).padTokenId).toBe(9)
    expect(open({ padding: { pad_id: 4 } }).padTokenId).toBe(4)
    expect(open({ added_tokens: added, post_processor: null }).padTokenId).toBe(7)
    expect(open({ added_tokens: [], post_processor: null }).padTokenId).toBe(0)
  })
})

describe('a tokenizer is refused when', () => {
  const golden_tokens = [{ text: '오늘', ids: [2, 595, 3] }]

  test.each([
    ['Whitespace', { type: 'Whitespace' }],
    ['Punctuation', { type: 'Punctuation', behavior: 'Isolated' }],
    ['Digits', { type: 'Digits', individual_digits: false }],
    ['Split (Removed)', { type: 'Split', pattern: { String: ' ' }, behavior: 'Removed', invert: false }],
  ])('it has a pre-tokenizer of type %s and no golden tokens', (type, part) => {
    const nested = { type: 'Sequence', pretokenizers: [{ type: 'WhitespaceSplit' }, part] }
    expect(() => open({ pre_tokenizer: part })).toThrow(`pre-tokenizer of type ${type}`)
    expect(() => open({ pre_tokenizer: nested })).toThrow(/golden_tokens are required/)
  })

  test('golden tokens differ: with Whitespace, a Korean word is not a word', () => {
    const whitespace = { pre_tokenizer: { type: 'Whitespace' } }
    const ids = [...open({}).encode('한글1').ids]
    expect(() => open(whitespace, { golden_tokens: [{ text: '한글1', ids }] })).toThrow(
      /golden_tokens: "한글1" has tokens 2 .* in training/,
    )
    expect(() => open({}, { golden_tokens: [{ text: '오늘', ids: [2, 595] }] })).toThrow(
      /595 3 here, but 2 595 in/,
    )
  })

  test('tokens_max leaves no room for text', () => {
    expect(() => open({}, { tokens_max: 2 })).toThrow(/tokens_max 2 leaves no room/)
  })

  test.each<[string, Record<string, unknown>, RegExp]>([
    ['a part of it is unknown', { normalizer: { type: 'Magic' } }, /cannot be used: .*Magic/],
    [
      'a special token has no id',
      { added_tokens: [], model: { type: 'WordPiece', vocab: { a: 0 } } },
      /\[CLS\] has no id/,
    ],
  ])('%s', (_, changes, message) => expect(() => open(changes)).toThrow(message))

  test('it is not JSON', () => {
    expect(() => openTokenizer(Buffer.from('no'), plain)).toThrow(/the tokenizer is not JSON/)
  })

  test('otherwise it is accepted, with golden tokens', () => {
    expect(open({ pre_tokenizer: { type: 'Whitespace' } }, { golden_tokens }).encode('오늘').ids).toEqual([
      2, 595, 3,
    ])
  })
})

describe('a Unigram vocabulary', () => {
  const unigram = (pieces: readonly string[]) => ({
    ...exampleTokenizer(),
    added_tokens: [],
    normalizer: null,
    post_processor: null,
    pre_tokenizer: { type: 'Metaspace', replacement: '\u2581', prepend_scheme: 'always', split: true },
    model: { type: 'Unigram', unk_id: 0, vocab: pieces.map((piece, index) => [piece, -index]) },
  })

  test('without the mark of a space makes one unknown token of two unknown words, and is reported', () => {
    const without = jsonBytes(unigram(['<unk>', '\u2581a', 'b']))
    expect(openTokenizer(without, plain).encode('xx yy').ids).toEqual([0])
    expect(mergesUnknownWords(without)).toBe(0)
  })

  test('with that mark keeps them apart, and is not reported', () => {
    const complete = jsonBytes(unigram(['<unk>', '\u2581', 'b']))
    expect(openTokenizer(complete, plain).encode('xx yy').ids).toEqual([1, 0, 1, 0])
    expect(mergesUnknownWords(complete)).toBeNull()
  })

  test('is the only kind that is reported', () => {
    expect(mergesUnknownWords(jsonBytes(exampleTokenizer()))).toBeNull()
  })

  test('has its last piece as the largest id; other vocabularies have theirs by token', () => {
    expect(openTokenizer(jsonBytes(unigram(['<unk>', '\u2581', 'b'])), plain).idMax).toBe(2)
    const { vocab } = exampleTokenizer()['model'] as { vocab: Record<string, number> }
    expect(open().idMax).toBe(Math.max(...Object.values(vocab)))
    const added_tokens = [{ id: 70_000, content: '[EXTRA]' }]
    expect(open({ added_tokens }).idMax).toBe(70_000)
  })
})
