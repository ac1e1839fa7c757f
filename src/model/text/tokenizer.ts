/**
 * A model's `tokenizer.json`, run by the library with which encoders are trained, so that texts have the same ids. Here are
 * the bound on how much of a long text is tokenized, and the comparison with the golden tokens of the manifest.
 *
 * A regular expression of the file may take very long or end the process, so a tokenizer is opened only in the process of an
 * encoder, which has time limits.
 */
import { Tokenizer, type Encoding } from 'tokenizers'
import type { TextSettings } from '../package/settings.js'
import { cutChars } from './html-text.js'
import { largestIdOf, padTokenIdOf, parseTokenizerFile } from './tokenizer-file.js'

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
  encode(text: string): Promise<TokenRow>
}

/**
 * Tokenizes a short prefix first, which usually has more tokens than fit (Korean averages two characters per token).
 * `last` bounds the longest prefix: text with more characters per token is not natural language.
 */
const charsPerToken = { first: 3, last: 64 }
/** The least bound: a few long words alone may be that long. */
const charsMin = 4096
/** So many tokens at the end of a prefix are not used: what follows the cut may change the last ones. */
const tokensAtCut = 32

/** Rejects with an Error that names a part that the library cannot run, or a golden text with other ids. */
export async function openTokenizer(json: Uint8Array, options: TokenizerOptions): Promise<TextTokenizer> {
  const file = parseTokenizerFile(json)
  const library = open(json)
  const room = options.tokens_max - (await countSpecialTokens(library))
  if (room < 1)
    throw new Error(`tokens_max ${options.tokens_max} leaves no room for text besides the special tokens`)
  await checkGolden(library, options)
  return {
    padTokenId: options.pad_token_id ?? padTokenIdOf(file),
    idMax: largestIdOf(file),
    charsMax: charsBound(options.tokens_max),
    async encode(text) {
      const content = await firstTokens(library, text, room)
      content.truncate(room, 0, 'right')
      const row = library.postProcess(content, null, true)
      return { ids: row.getIds(), typeIds: row.getTypeIds() }
    },
  }
}

function open(json: Uint8Array): Tokenizer {
  try {
    const library = Tokenizer.fromString(new TextDecoder().decode(json))
    // The file may state both, and the service truncates and pads by itself.
    library.disableTruncation()
    library.disablePadding()
    return library
  } catch (cause) {
    throw new Error(`the tokenizer cannot be used: ${(cause as Error).message}`, { cause })
  }
}

function contentOf(library: Tokenizer, text: string): Promise<Encoding> {
  return library.encode(text, null, { addSpecialTokens: false })
}

/** Around an empty text, whose content may be a mark of a space. */
async function countSpecialTokens(library: Tokenizer): Promise<number> {
  const content = await contentOf(library, '')
  return library.postProcess(content, null, true).getLength() - content.getLength()
}

/** The first `count` tokens of `text`, and maybe more. Of a long text only the beginning is tokenized, cut between words. */
async function firstTokens(library: Tokenizer, text: string, count: number): Promise<Encoding> {
  const neededCount = count + tokensAtCut
  const first = cutWords(text, neededCount * charsPerToken.first)
  if (first !== null) {
    const content = await contentOf(library, first)
    if (content.getLength() >= neededCount || first.length === text.length) return content
  }
  const charsMax = charsBound(count)
  return contentOf(library, cutWords(text, charsMax) ?? cutChars(text, charsMax))
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

async function checkGolden(
  library: Tokenizer,
  { golden_tokens: goldenTokens }: TokenizerOptions,
): Promise<void> {
  for (const { text, ids } of goldenTokens) {
    const encodedIds = (await library.encode(text)).getIds()
    if (encodedIds.length !== ids.length || encodedIds.some((id, index) => id !== ids[index])) {
      throw new Error(
        `golden_tokens: ${JSON.stringify(text)} has tokens ${encodedIds.join(' ')} here, but ${ids.join(' ')} in training`,
      )
    }
  }
}
