/**
 * From a candidate's record to the tokens of its text: the template is filled, and the result tokenized.
 */
import { readHashed } from '../package/read-file.js'
import type { TextReaderPlan } from '../sessions/plans.js'
import { parseTemplate, readPost } from './post-text.js'
import { openTokenizer, type TextTokenizer, type TokenRow } from './tokenizer.js'

export interface ReadText {
  /** The filled template. Only the beginning of a long body is in it. */
  readonly text: string
  readonly tokens: TokenRow
}

export interface TextReader {
  readonly tokenizer: TextTokenizer
  /** null: the record cannot be read. Rejects for a text that the tokenizer cannot process, such as one with a word that it does not know. */
  read(record: Uint8Array): Promise<ReadText | null>
}

/** Rejects with an error that names a part of the tokenizer that the library cannot run, or a golden text with other ids. */
export async function openTextReader(plan: TextReaderPlan): Promise<TextReader> {
  const { file, sha256, copy } = plan.tokenizer
  const tokenizer = await openTokenizer(await readHashed(file, sha256, copy), plan)
  const fill = parseTemplate(plan.template)
  return {
    tokenizer,
    async read(record) {
      const post = readPost(record)
      if (post === null) return null
      const text = fill(post, tokenizer.charsMax)
      return { text, tokens: await tokenizer.encode(text) }
    },
  }
}
