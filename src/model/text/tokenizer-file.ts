/**
 * What is read from a `tokenizer.json` itself, besides running it: the padding token and the largest id.
 */

/** The members that are read here. */
export interface TokenizerFile {
  readonly added_tokens?: readonly { readonly id: number; readonly content: string }[]
  readonly padding?: { readonly pad_id?: number } | null
  readonly model?: {
    /** Unigram has pieces with their scores, the others have ids by token. */
    readonly vocab?: readonly (readonly [piece: string, score: number])[] | Readonly<Record<string, number>>
  } | null
}

const padTokens = ['[PAD]', '<pad>', '<|padding|>', '<|pad|>']

export function parseTokenizerFile(json: Uint8Array): TokenizerFile {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder().decode(json))
  } catch (cause) {
    throw new Error(`the tokenizer is not JSON: ${(cause as Error).message}`, { cause })
  }
  if (typeof value !== 'object' || value === null) throw new Error('the tokenizer is not a JSON object')
  return value
}

/** That of the padding, else a known padding token, else 0. */
export function padTokenIdOf({ padding, added_tokens: added = [] }: TokenizerFile): number {
  return padding?.pad_id ?? added.find(({ content }) => padTokens.includes(content))?.id ?? 0
}

/** The largest token id; 0 without a vocabulary. */
export function largestIdOf({ model, added_tokens: added = [] }: TokenizerFile): number {
  const vocab = model?.vocab ?? []
  const ids = Array.isArray(vocab)
    ? [vocab.length - 1]
    : Object.values(vocab as Readonly<Record<string, number>>)
  return [...ids, ...added.map(({ id }) => id)].reduce((most, id) => Math.max(most, id), 0)
}
