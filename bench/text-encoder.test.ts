/**
 * The bench of the text encoder in small, with a real child process: so that it does not rot. No figure is judged.
 */
import { expect, test } from 'vitest'
import { textEncoderBench } from './text-encoder.js'

test('the bench of the text encoder measures the bare session and the service', async () => {
  const lines: string[] = []
  const result = await textEncoderBench(
    { rounds: 1, threads: 1, postCount: 10, layerCount: 1, width: 32, tokensMax: 32 },
    (line) => lines.push(line),
  )
  expect(result.share).toBeGreaterThan(0)
  expect(result.bareSplit.map(({ rowCount }) => rowCount)).toEqual([8])
  expect(lines.at(-1)).toMatch(/^the service reaches \d+ % of the bare session$/)
})
