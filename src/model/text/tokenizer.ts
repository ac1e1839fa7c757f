/**
 * A model's `tokenizer.json`, run by @huggingface/tokenizers, and the parts that this library lacks: truncation that
 * keeps special tokens, token types, padding, and the comparison with the tokens of the training.
 */
import { Tokenizer } from '@huggingface/tokenizers'
import type { TextSettings } from '../package/settings.js'
import { cutChars } from './html-text.js'

export type TokenizerOptions = Pick<TextSettings, 'tokens_max' | 'pad_token_id' | 'golden_tokens'>

export interface TokenRow {
  readonly ids: readonly number[]
  readonly typeIds: readonly number[]
}

export interface TextTokenizer {
  readonly padTokenId: number
  /** The largest id that a text may get. */
  readonly idMax: number
  /** Only the first so many UTF-16 units of a text are read. */
  readonly charsMax: number
  /** At most `tokens_max` tokens, special tokens first and last as the tokenizer has them. */
  encode(text: string): TokenRow
}

/** The part of the library's class that is used: its type declarations do not resolve under `nodenext`. */
interface Library {
  encode(text: string, options: { add_special_tokens: boolean }): { ids: (number | undefined)[] }
  token_to_id(token: string): number | undefined
  readonly post_processor: {
    post_process(
      tokens: string[],
      pair: null,
      addSpecialTokens: true,
    ): { tokens: string[]; token_type_ids?: (number | undefined)[] }
  } | null
}

/** The members of `tokenizer.json` that are read here. */
interface TokenizerFile {
  readonly added_tokens?: readonly { readonly id: number; readonly content: string }[]
  readonly padding?: { readonly pad_id?: number } | null
  readonly pre_tokenizer?: PreTokenizerPart | null
  readonly model?: {
    readonly type?: string
    /** Unigram has pieces with their scores, the others have ids by token. */
    readonly vocab?: readonly (readonly [piece: string, score: number])[] | Readonly<Record<string, number>>
    readonly unk_id?: number | null
  } | null
}

interface PreTokenizerPart {
  readonly type?: string
  readonly behavior?: string
  readonly invert?: boolean
  readonly pretokenizers?: readonly PreTokenizerPart[]
}

/** One of the tokens of a text and its special tokens; `id` null: the place of the text. */
interface Frame {
  readonly id: number | null
  readonly typeId: number
}

const padTokens = ['[PAD]', '<pad>', '<|padding|>', '<|pad|>']

/**
 * Tokenizes a short prefix first, which usually has more tokens than fit (Korean averages two characters per token).
 * `last` bounds the longest prefix: text with more characters per token is not natural language.
 */
const charsPerToken = { first: 3, last: 64 }
/** The least bound: a few long words alone may be that long. */
const charsMin = 4096

/** Reads `tokenizer.json`. Throws an Error that names a part that this service cannot run or runs differently. */
export function openTokenizer(json: Uint8Array, options: TokenizerOptions): TextTokenizer {
  const file = parseFile(json)
  const tokenizer = open(file)
  const frame = frameOf(tokenizer)
  const room = options.tokens_max - (frame.length - 1)
  if (room < 1)
    throw new Error(`tokens_max ${options.tokens_max} leaves no room for text besides the special tokens`)
  const idsOf = (text: string): number[] => contentIds(tokenizer, text)
  const framed = (ids: readonly number[]): TokenRow => ({
    ids: frame.flatMap(({ id }) => id ?? ids),
    typeIds: frame.flatMap(({ id, typeId }) => (id === null ? ids.map(() => typeId) : typeId)),
  })
  checkGolden(file, options, (text) => framed(idsOf(text)).ids)
  return {
    padTokenId: options.pad_token_id ?? padTokenOf(file),
    idMax: largestId(file),
    charsMax: charsBound(options.tokens_max),
    encode: (text) => framed(firstIds(idsOf, text, room)),
  }
}

/**
 * The id of the unknown token if words that follow each other and are unknown become one token here; else null. Without a piece for
 * the mark of a space, the library merges such tokens across words, and the Rust one does not.
 */
export function mergesUnknownWords(json: Uint8Array): number | null {
  const { model } = parseFile(json)
  if (model?.type !== 'Unigram' || !Array.isArray(model.vocab)) return null
  const pieces = model.vocab as readonly (readonly [string, number])[]
  return pieces.some(([piece]) => piece === '\u2581') ? null : (model.unk_id ?? null)
}

/** The largest token id; 0 without a vocabulary. */
function largestId({ model, added_tokens: added = [] }: TokenizerFile): number {
  const vocab = model?.vocab ?? []
  const ids = Array.isArray(vocab)
    ? [vocab.length - 1]
    : Object.values(vocab as Readonly<Record<string, number>>)
  return [...ids, ...added.map(({ id }) => id)].reduce((most, id) => Math.max(most, id), 0)
}

function parseFile(json: Uint8Array): TokenizerFile {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder().decode(json))
  } catch (cause) {
    throw new Error(`the tokenizer is not JSON: ${(cause as Error).message}`, { cause })
  }
  if (typeof value !== 'object' || value === null) throw new Error('the tokenizer is not a JSON object')
  return value
}

function open(file: TokenizerFile): Library {
  // The library requires every member.
  const complete = {
    added_tokens: [],
    normalizer: null,
    pre_tokenizer: null,
    post_processor: null,
    decoder: null,
    ...file,
  }
  try {
    // The constructor has no types: see `Library`.
    return new (Tokenizer as new (file: object, config: object) => Library)(complete, {})
  } catch (cause) {
    throw new Error(`the tokenizer cannot be used: ${(cause as Error).message}`, { cause })
  }
}

/** The special tokens around a text, found by passing a marker through the post-processor. */
function frameOf(tokenizer: Library): Frame[] {
  const marker = '\u0000content'
  const processed = tokenizer.post_processor?.post_process([marker], null, true) ?? { tokens: [marker] }
  if (processed.tokens.filter((token) => token === marker).length !== 1)
    throw new Error('the post-processor of the tokenizer drops or repeats the text')
  return processed.tokens.map((token, index) => ({
    id: token === marker ? null : specialId(tokenizer, token),
    typeId: processed.token_type_ids?.[index] ?? 0,
  }))
}

function specialId(tokenizer: Library, token: string): number {
  const id = tokenizer.token_to_id(token)
  if (id === undefined) throw new Error(`the special token ${token} has no id in the tokenizer`)
  return id
}

function contentIds(tokenizer: Library, text: string): number[] {
  return tokenizer.encode(text, { add_special_tokens: false }).ids.map((id) => {
    if (id === undefined) throw new Error('a token has no id, and the tokenizer has no unknown token')
    return id
  })
}

/** The first `count` ids of `text`. Of a long text only the beginning is tokenised, cut between words. */
function firstIds(idsOf: (text: string) => number[], text: string, count: number): number[] {
  const first = cutWords(text, count * charsPerToken.first)
  const ids = first === null ? [] : idsOf(first)
  if (first !== null && (ids.length >= count || first.length === text.length)) return ids.slice(0, count)
  const charsMax = charsBound(count)
  return idsOf(cutWords(text, charsMax) ?? cutChars(text, charsMax)).slice(0, count)
}

function charsBound(tokenCount: number): number {
  return Math.max(tokenCount * charsPerToken.last, charsMin)
}

/** null when the cut would be inside the first word. */
function cutWords(text: string, charsMax: number): string | null {
  if (text.length <= charsMax) return text
  const lastSpace = text.slice(0, charsMax).search(/\s\S*$/)
  return lastSpace > 0 ? text.slice(0, lastSpace) : null
}

function padTokenOf({ padding, added_tokens: added = [] }: TokenizerFile): number {
  return padding?.pad_id ?? added.find(({ content }) => padTokens.includes(content))?.id ?? 0
}

function checkGolden(
  file: TokenizerFile,
  { golden_tokens: goldenTokens }: TokenizerOptions,
  encode: (text: string) => readonly number[],
): void {
  const differing = differingPart(file.pre_tokenizer ?? null)
  if (differing !== null && goldenTokens.length === 0) {
    throw new Error(
      `the tokenizer has a pre-tokenizer of type ${differing}, which splits some texts here in another way ` +
        'than in training: golden_tokens are required',
    )
  }
  for (const { text, ids } of goldenTokens) {
    const encodedIds = encode(text)
    if (encodedIds.length !== ids.length || encodedIds.some((id, index) => id !== ids[index])) {
      throw new Error(
        `golden_tokens: ${JSON.stringify(text)} has tokens ${encodedIds.join(' ')} here, but ${ids.join(' ')} in training`,
      )
    }
  }
}

/**
 * A pre-tokenizer that this library and the Rust one run differently, or null; found by comparing both on 1,800 texts.
 * `Whitespace` treats only ASCII letters as words, `Punctuation` keeps runs together, `Digits` does not treat ① as a digit, and two
 * forms of `Split` are equal. BERT's, ByteLevel, Metaspace and WhitespaceSplit are equal too.
 */
function differingPart(part: PreTokenizerPart | null): string | null {
  if (part === null) return null
  const { type = '', behavior = '', invert = false } = part
  if (type === 'Whitespace' || type === 'Punctuation' || type === 'Digits') return type
  if (type === 'Split' && behavior.toLowerCase() !== (invert ? 'removed' : 'isolated')) {
    return `Split (${behavior}${invert ? ', inverted' : ''})`
  }
  return (part.pretokenizers ?? []).map(differingPart).find((name) => name !== null) ?? null
}
