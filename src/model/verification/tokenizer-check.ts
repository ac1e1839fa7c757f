/**
 * Compares the tokenizer with that of the training: it must reproduce the golden token ids.
 */
import { join } from 'node:path'
import { readHashed, textSettings, type ModelPackage } from '../package/index.js'
import { openTokenizer } from '../text/index.js'
import { attempt, counted, pass, skip, type CheckLine } from './report.js'

const check = 'tokenizer'

/** Opens the tokenizer as the encoder's process does, with the same checks. */
export async function checkTokenizer({ directory, manifest }: ModelPackage): Promise<CheckLine> {
  const { text } = manifest
  if (text === undefined) return skip(check, 'The model reads no texts.')
  return attempt(check, async () => {
    const json = await readHashed(join(directory, text.tokenizer.file), text.tokenizer.sha256)
    const settings = textSettings(text)
    openTokenizer(json, settings)
    if (settings.golden_tokens.length === 0) {
      const why = 'the tokenizer was not compared with that of the training.'
      return skip(check, `The manifest has no golden_tokens: ${why}`)
    }
    return pass(
      check,
      `${counted(settings.golden_tokens.length, 'golden text')} give the token ids of the training.`,
    )
  })
}
