/** A cycle service in memory that an observer of the admin listener watches. */
import { silentLog } from '../../src/base/index.js'
import { Observer } from '../../src/admin/observer.js'
import type { CycleRequest } from '../../src/contract/index.js'
import { CycleService, StageClock, RequestBody } from '../../src/cycle/index.js'
import type { EndedRequest, ServerSources } from '../../src/server/index.js'
import { createMemoryStore } from '../../src/store/index.js'
import { bytesOf, cycleMs } from './bodies.js'
import { FakeModel } from './fake-model.js'

export async function observed() {
  const store = createMemoryStore()
  const model = new FakeModel()
  const cycles = await CycleService.open({
    store,
    model: () => model,
    clock: () => cycleMs(100),
    log: silentLog,
    limits: () => ({ clockSkewMs: 2000, cyclesWaitingMax: 4 }),
    initialWeights: { version: 'w', weights: { views: 1, comments: 0, up: 0, downvote_share: 0 } },
    textEncodeMsMax: 1000,
  })
  const sources = { store, cycles, log: silentLog, clock: () => cycleMs(100) } as unknown as ServerSources
  const observer = new Observer(sources)
  /** `status`: of the response; 0: the client disconnects meanwhile. */
  const post = async (body: CycleRequest, receivedMs = cycleMs(100), status = 200): Promise<void> => {
    const stages = Object.assign(new StageClock(0), { cycleId: body.cycle_id })
    stages.lap('receive')
    await cycles.intake.submit(new RequestBody(bytesOf(body)), receivedMs, stages)
    stages.lap('send')
    const ended = { ...endedRequest, status, stages } satisfies EndedRequest
    await new Promise<void>((resolve) => {
      observer.listen({ onCall: () => resolve() })
      observer.requestEnded(ended)
    })
  }
  return { sources, observer, post }
}

export const endedRequest: EndedRequest = {
  method: 'POST',
  loggedPath: '/v1/cycles',
  operation: 'POST /v1/cycles',
  status: 200,
  code: undefined,
  problem: null,
  receivedAtMs: 0,
  startedAt: 0,
  endedAt: 1,
  bytesIn: 1,
  bytesOut: 1,
  stages: null,
  trace: null,
}
