/**
 * A service of cycles on a store in memory.
 */
import { silentLog } from '../../src/base/index.js'
import type { CycleRequest } from '../../src/contract/index.js'
import { CycleService, StageClock, type CycleServiceParts, RequestBody } from '../../src/cycle/index.js'
import type { Store } from '../../src/store/index.js'
import { bytesOf, cycleMs } from './bodies.js'
import { FakeModel } from './fake-model.js'
import {
  createMemoryContents,
  memoryStore,
  type MemoryContents,
  type MemoryStoreOptions,
} from './memory-store.js'

const nowMs = cycleMs(20_000)

export class RecordedMemory {
  readonly contents: MemoryContents
  readonly store: Store
  readonly service: CycleService

  private constructor(contents: MemoryContents, store: Store, service: CycleService) {
    this.contents = contents
    this.store = store
    this.service = service
  }

  static async open({
    log = silentLog,
    contents = createMemoryContents(),
    ...options
  }: MemoryStoreOptions & Partial<Pick<CycleServiceParts, 'log'>> = {}): Promise<RecordedMemory> {
    const store = memoryStore({ ...options, contents })
    const model = new FakeModel()
    const service = await CycleService.open({
      store,
      model: () => model,
      clock: () => nowMs,
      limits: () => ({ clockSkewMs: 0, cyclesWaitingMax: 40 }),
      textEncodeMsMax: 1000,
      initialWeights: { version: 'w', weights: { views: 1, comments: 1, up: 1, downvote_share: 0 } },
      log,
    })
    return new RecordedMemory(contents, store, service)
  }

  submit(cycle: CycleRequest): Promise<Uint8Array> {
    return this.service.intake.submit(new RequestBody(bytesOf(cycle)), nowMs, new StageClock(0))
  }
}
