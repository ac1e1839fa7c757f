/**
 * The ids of texts equal those of the training's library, for each family of tokenizers in test/golden/tokenizers: board
 * spelling with loose jamo, NFD, full-width letters, bytes for unknown letters, added tokens that are single words.
 */
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { openTokenizer, type TextTokenizer } from './tokenizer.js'

interface Family {
  readonly name: string
  readonly tokenizer: object
  /** By text. */
  readonly ids: readonly (readonly number[])[]
  /** Of all texts as one, by `tokens_max`. */
  readonly cut_ids: Readonly<Record<string, readonly number[]>>
}

const file = new URL('../../../test/golden/tokenizers/families.json.gz', import.meta.url)
const { texts, nmt_nfkc, families } = JSON.parse(gunzipSync(readFileSync(file)).toString()) as {
  readonly texts: readonly string[]
  /** The rules of sentencepiece of this name, which several tokenizers contain. */
  readonly nmt_nfkc: string
  readonly families: readonly Family[]
}

function open({ tokenizer }: Family, tokens_max: number): Promise<TextTokenizer> {
  const json = JSON.stringify(tokenizer).replace('"nmt_nfkc"', JSON.stringify(nmt_nfkc))
  return openTokenizer(Buffer.from(json), { tokens_max, pad_token_id: null, golden_tokens: [] })
}

test('there are 15 families and 221 texts, and each family has unlike ids for them', () => {
  expect([families.length, texts.length]).toEqual([15, 221])
  for (const { ids } of families) expect(new Set(ids.map(String)).size).toBeGreaterThan(50)
})

describe.each(families)('a tokenizer like that of $name', (family) => {
  test('gives each text the ids of the training', async () => {
    const tokenizer = await open(family, 10_000)
    const differing: object[] = []
    for (const [index, text] of texts.entries()) {
      const { ids } = await tokenizer.encode(text)
      if (String(ids) !== String(family.ids[index]))
        differing.push({ text, here: ids, training: family.ids[index] })
    }
    expect(differing).toEqual([])
  })

  test.each(Object.entries(family.cut_ids))(
    'cuts a long text to %s tokens as the training does',
    async (tokensMax, ids) => {
      const tokenizer = await open(family, Number(tokensMax))
      expect((await tokenizer.encode(texts.join(' '))).ids).toEqual(ids)
    },
  )

  test('accepts the texts as golden tokens, and refuses one of other ids', async () => {
    const golden = texts.map((text, index) => ({ text, ids: [...family.ids[index]!] }))
    const json = Buffer.from(JSON.stringify(family.tokenizer).replace('"nmt_nfkc"', JSON.stringify(nmt_nfkc)))
    const check = (golden_tokens: typeof golden) =>
      openTokenizer(json, { tokens_max: 16, pad_token_id: null, golden_tokens })
    await check(golden)
    const last = golden.at(-1)!
    await expect(check([...golden.slice(0, -1), { ...last, ids: [...last.ids, 0] }])).rejects.toThrow(
      'in training',
    )
  })
})
