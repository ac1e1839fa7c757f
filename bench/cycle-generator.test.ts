/**
 * The generator produces the cycles of world.ts, and a failure in its thread ends the run.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import type { CycleResponse } from '../src/contract/index.js'
import type { Address } from '../test/harness/http.js'
import { withGenerator } from './cycle-generator.js'
import { rampCycleCount, worldCycles, type WorldCycle, type WorldShape } from '../test/harness/world.js'
import { cycleScenarios } from './scenarios.js'

const shape: WorldShape = { pending: 10, turnover: 1, snapshotShare: 1, bodyChars: 50 }

function responseTo({ cycleId, counts }: WorldCycle): CycleResponse {
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
    model_version: 'v1',
    weights_version: 'w',
    counts: { ...counts, scored_now: results.length, waiting: 0, not_scored: 0, results: results.length },
    missing_feature_share: 0,
    warnings: [],
    results,
  }
}

/** A server that sends one of `responses` per call. `received` holds the bodies of the calls. */
async function withResponses(
  responses: readonly { readonly status?: number; readonly body: string }[],
  use: (address: Address, received: readonly Buffer[]) => Promise<void>,
): Promise<void> {
  const received: Buffer[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { status = 200, body } = responses[received.push(Buffer.concat(chunks)) - 1] ?? { body: '' }
      response.writeHead(status, { 'content-length': Buffer.byteLength(body) }).end(body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    await use({ port: (server.address() as AddressInfo).port, key: 'k' }, received)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

test('the generator makes the cycles of the world, and a server receives their bytes', async () => {
  const world = worldCycles(shape)
  const expected = Array.from({ length: 7 }, () => world.next().value)
  const responses = expected.map((cycle) => ({ body: JSON.stringify(responseTo(cycle)) }))
  await withResponses(responses, (address, received) =>
    withGenerator(shape, async (generator) => {
      const connection = generator.connectTo(address)
      for (const [index, cycle] of expected.entries()) {
        const made = await generator.next()
        expect({ ...made, request: made.request.toString() }).toEqual({
          ...cycle,
          request: cycle.request.toString(),
        })
        const { response, modelVersion } = await generator.post(connection, made)
        expect(response.toString()).toBe(responses[index]?.body)
        expect(modelVersion).toBe('v1')
      }
      expect(received).toEqual(expected.map(({ request }) => request))
    }),
  )
})

test('a wrong response stops the run with its reason', async () => {
  const correct = responseTo(worldCycles(shape).next().value)
  const unscored = correct.results.map((row) => ({ ...row, status: 'waiting' as const, score: null }))
  await withResponses(
    [
      { body: JSON.stringify({ ...correct, results: unscored }) },
      { body: '{"cycle_id":' },
      { status: 503, body: '{"error":"full"}' },
    ],
    (address) =>
      withGenerator(shape, async (generator) => {
        const connection = generator.connectTo(address)
        const cycle = await generator.next()
        for (const reason of [/wrong response .* and 0 scores/, /JSON/, /503 \{"error":"full"\}/]) {
          await expect(generator.post(connection, cycle)).rejects.toThrow(reason)
        }
      }),
  )
})

test('a failure of the generator stops the run with its reason', async () => {
  await withGenerator({ ...shape, requestBytes: 10 }, async (generator) => {
    const makeAll = async (): Promise<never> => {
      for (;;) await generator.next()
    }
    await expect(makeAll()).rejects.toThrow('a request cannot be made 10 bytes long')
    await expect(generator.next()).rejects.toThrow('a request cannot be made 10 bytes long')
  })
})

test('the exit of the generator stops the run, even in the middle of a cycle', async () => {
  await withGenerator(shape, async (generator) => {
    const pending = generator.next()
    await Promise.all([expect(pending).rejects.toThrow('has ended'), generator.close()])
    await expect(generator.next()).rejects.toThrow('the cycle generator has ended')
  })
})

test('a full cycle has about 5.5 MB, a typical one 0.4', () => {
  const size = (shape: WorldShape): number => {
    const world = worldCycles(shape)
    for (let ramp = 0; ramp < rampCycleCount; ramp++) world.next()
    return world.next().value.request.length / 1e6
  }
  expect(size(cycleScenarios.typical.shape)).toBeCloseTo(0.4, 1)
  expect(Math.abs(size(cycleScenarios.full.shape) - 5.5)).toBeLessThan(0.3)
})
