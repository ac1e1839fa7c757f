/**
 * Cycles made and checked in another thread are those of the world, and what goes wrong there ends the run.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import type { CycleResponse } from '../src/contract/index.js'
import type { Address } from './client.js'
import { withMaker } from './maker.js'
import { worldCycles, type WorldCycle, type WorldShape } from './world.js'

const shape: WorldShape = { pending: 10, turnover: 1, snapshots: true, bodyChars: 50 }

function answerTo({ cycleId, counts }: WorldCycle): CycleResponse {
  const results = Array.from({ length: counts.engagement }, (_, index) => ({
    gall_id: 'g',
    post_no: index + 1,
    status: 'scored' as const,
    score: 0.5,
  }))
  return {
    cycle_id: cycleId,
    cycle_time: '2025-03-03T09:00:00+09:00',
    received_at: '2025-03-03T09:00:00Z',
    scored_at: '2025-03-03T09:00:00Z',
    model_version: 'the one',
    weights_version: 'w',
    counts: { ...counts, scored_now: results.length, waiting: 0, not_scored: 0, results: results.length },
    missing_feature_share: 0,
    warnings: [],
    results,
  }
}

/** A server that gives each call the next of the answers, and its address. */
async function withAnswers(
  answers: readonly { readonly status?: number; readonly body: string }[],
  use: (address: Address, heard: readonly Buffer[]) => Promise<void>,
): Promise<void> {
  const heard: Buffer[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { status = 200, body } = answers[heard.push(Buffer.concat(chunks)) - 1] ?? { body: '' }
      response.writeHead(status, { 'content-length': Buffer.byteLength(body) }).end(body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    await use({ port: (server.address() as AddressInfo).port, key: 'k' }, heard)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

test('the maker makes the cycles of the world, and a server gets their bytes', async () => {
  const world = worldCycles(shape)
  const wanted = Array.from({ length: 7 }, () => world.next().value)
  const answers = wanted.map((cycle) => ({ body: JSON.stringify(answerTo(cycle)) }))
  await withAnswers(answers, (address, heard) =>
    withMaker(shape, async (maker) => {
      const wire = maker.wireTo(address)
      for (const [index, cycle] of wanted.entries()) {
        const made = await maker.next()
        expect({ ...made, request: made.request.toString() }).toEqual({
          ...cycle,
          request: cycle.request.toString(),
        })
        const { response, modelVersion } = await maker.post(wire, made)
        expect(response.toString()).toBe(answers[index]?.body)
        expect(modelVersion).toBe('the one')
      }
      expect(heard).toEqual(wanted.map(({ request }) => request))
    }),
  )
})

test('an answer that is wrong ends the run with its reason', async () => {
  const right = answerTo(worldCycles(shape).next().value)
  const unscored = right.results.map((row) => ({ ...row, status: 'waiting' as const, score: null }))
  await withAnswers(
    [
      { body: JSON.stringify({ ...right, results: unscored }) },
      { body: '{"cycle_id":' },
      { status: 503, body: '{"error":"full"}' },
    ],
    (address) =>
      withMaker(shape, async (maker) => {
        const wire = maker.wireTo(address)
        const cycle = await maker.next()
        for (const reason of [/was answered with .* and 0 scores/, /JSON/, /503 \{"error":"full"\}/]) {
          await expect(maker.post(wire, cycle)).rejects.toThrow(reason)
        }
      }),
  )
})

test('a maker that fails ends the run with its reason', async () => {
  await withMaker({ ...shape, requestBytes: 10 }, async (maker) => {
    const makeAll = async (): Promise<never> => {
      for (;;) await maker.next()
    }
    await expect(makeAll()).rejects.toThrow('a request cannot be made 10 bytes long')
    await expect(maker.next()).rejects.toThrow('a request cannot be made 10 bytes long')
  })
})

test('a maker that ends, asked or not, ends the run', async () => {
  await withMaker(shape, async (maker) => {
    const asked = maker.next()
    await Promise.all([expect(asked).rejects.toThrow('has ended'), maker.close()])
    await expect(maker.next()).rejects.toThrow('the maker of the cycles has ended')
  })
})
