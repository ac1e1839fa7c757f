/**
 * A data directory in which a service without sockets has recorded cycles, images and outcomes.
 */
import { join } from 'node:path'
import { silentLog } from '../../src/base/index.js'
import type { CycleRequest, CycleResponse, Outcome, Weights } from '../../src/contract/index.js'
import { CycleService, StageClock, RequestBody } from '../../src/cycle/index.js'
import type { Model } from '../../src/model/index.js'
import { openLmdbStore, type Store } from '../../src/store/index.js'
import { bytesOf, cycleMs } from './bodies.js'
import { FakeModel } from './fake-model.js'
import { scratchDir } from './servers.js'

export class RecordedDirectory {
  readonly dataDir: string
  readonly store: Store
  readonly service: CycleService

  private constructor(dataDir: string, store: Store, service: CycleService) {
    this.dataDir = dataDir
    this.store = store
    this.service = service
  }

  /** `nowMs`: the clock of the service; by default, hours after every cycle of a test. */
  static async open({
    model = new FakeModel(),
    weights = { views: 1, comments: 0, up: 0, downvote_share: 0 },
    nowMs = cycleMs(10_000),
  }: { model?: Model; weights?: Weights; nowMs?: number } = {}): Promise<RecordedDirectory> {
    return RecordedDirectory.reopen(join(scratchDir(), 'data'), model, { weights, nowMs })
  }

  /** Opens a directory again with another model. */
  static async reopen(
    dataDir: string,
    model: Model,
    {
      weights = { views: 1, comments: 0, up: 0, downvote_share: 0 },
      nowMs = cycleMs(10_000),
    }: { weights?: Weights; nowMs?: number } = {},
  ): Promise<RecordedDirectory> {
    const store = await openLmdbStore({ dataDir })
    const service = await CycleService.open({
      store,
      model: () => model,
      clock: () => nowMs,
      limits: () => ({ clockSkewMs: 2000, cyclesWaitingMax: 4 }),
      textEncodeMsMax: 60_000,
      initialWeights: { version: 'initial', weights },
      log: silentLog,
    })
    await service.models.adopt(model, null, () => undefined)
    return new RecordedDirectory(dataDir, store, service)
  }

  /** Submits a cycle at a time of arrival, by default 2 s after its time. */
  async submit(
    body: CycleRequest,
    receivedAtMs = Date.parse(body.cycle_time) + 2000,
  ): Promise<CycleResponse> {
    const request = new RequestBody(bytesOf(body))
    const response = await this.service.intake.submit(request, receivedAtMs, new StageClock(0))
    return JSON.parse(Buffer.from(response).toString()) as CycleResponse
  }

  async putOutcomes(outcomes: readonly Outcome[], arrivedAtMs: number): Promise<void> {
    await this.store.putOutcomes(
      outcomes.map((outcome) => ({
        placementId: outcome.placement_id,
        record: bytesOf(outcome),
        arrivedAtMs,
      })),
    )
  }

  /** Ends the service and closes the store. */
  async close(): Promise<void> {
    await this.service.close()
    await this.store.close()
  }
}
