/** A client that repeats calls quickly, a body for it, and the response to that body. */
import { bodyExamples } from '../../src/contract/index.js'
import { Client, type ClientOptions, type Failure } from '../../src/client/index.js'
import { cycleBody } from './bodies.js'
import type { FaultyServer } from './faulty-server.js'

export const fast = { apiKey: 'key', backoffMsFirst: 1, backoffMsMax: 5 }

export async function connect(
  server: FaultyServer,
  options: Partial<ClientOptions> = {},
): Promise<{ client: Client; failures: Failure[] }> {
  const failures: Failure[] = []
  const onFailure = (failure: Failure): void => void failures.push(failure)
  return { client: new Client({ ...fast, url: await server.listen(), onFailure, ...options }), failures }
}

/** The response to `cycleBody(0)` and `large`, which has its id. */
export const ok = { body: { ...bodyExamples.CycleResponse, cycle_id: cycleBody(0).cycle_id } }

/** A body that fills the buffers of sockets, so that a connection can end within it. */
export const large = cycleBody(0, {
  removals: Array.from({ length: 5000 }, (_, index) => ({
    gall_id: String(Math.sin(index)).repeat(20),
    post_no: index + 1,
    reason: 'deleted',
    decided_at: '2024-03-01T00:00:00Z',
  })),
})
