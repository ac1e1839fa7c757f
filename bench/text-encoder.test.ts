/**
 * A small run of the text encoder bench with a real child process, which shows that it still works. It checks no figures.
 */
import { expect, test } from 'vitest'
import { textEncoderBench } from './text-encoder.js'

test('the text encoder bench measures the bare session and the service', async () => {
  const lines: string[] = []
  const result = await textEncoderBench(
    { rounds: 1, threads: 1, postCount: 10, layerCount: 1, width: 32, tokensMax: 32 },
    (line) => lines.push(line),
  )
  expect(result.share).toBeGreaterThan(0)
  expect(result.bareSplit.map(({ rowCount }) => rowCount)).toEqual([8])
  expect(lines.at(-1)).toMatch(/^the service reaches \d+ % of the bare session$/)
})
