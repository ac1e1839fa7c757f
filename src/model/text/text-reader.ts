/**
 * From a candidate's record to the tokens of its text: the template is filled, and the result tokenised. The text encoder and
 * `models embed` use it.
 */
import { readHashed } from '../package/read-file.js'
import type { TextPlan } from '../sessions/plans.js'
import { parseTemplate, readPost } from './post-text.js'
import { openTokenizer, type TextTokenizer, type TokenRow } from './tokenizer.js'

export interface ReadText {
  /** The filled template. Only the beginning of a long body is in it. */
  readonly text: string
  readonly tokens: TokenRow
}

export interface TextReader {
  readonly tokenizer: TextTokenizer
  /** null: the record cannot be read. Throws for a text that the tokenizer cannot process, such as one very long word. */
  read(record: Uint8Array): ReadText | null
}

/** Rejects with an error that names a part of the tokenizer that this service cannot run or runs differently. */
export async function openTextReader(plan: TextPlan): Promise<TextReader> {
  const { file, sha256, copy } = plan.tokenizer
  const tokenizer = openTokenizer(await readHashed(file, sha256, copy), plan)
  const fill = parseTemplate(plan.template)
  return {
    tokenizer,
    read(record) {
      const post = readPost(record)
      if (post === null) return null
      const text = fill(post, tokenizer.charsMax)
      return { text, tokens: tokenizer.encode(text) }
    },
  }
}
