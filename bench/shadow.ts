/**
 * How much does a shadow delay responses? Sends full cycles with and without one shadow of the same size, alternating on
 * one server, so that other load of the machine affects both.
 */
import type { openLmdbStore } from '../src/store/index.js'
import { join } from 'node:path'
import { uncountedCycleCount } from './cycles.js'
import { withGenerator, type CycleGenerator } from './cycle-generator.js'
import { measurementOf, sequentialS, type Measurement } from './measurement.js'
import { builtModule } from './project.js'
import { cycleScenarios, scaledShape, type RunSize } from './scenarios.js'
import { withServer, type ServerUnderTest } from './server-under-test.js'
import { median } from './statistics.js'
import { modelVersions, setRole, writeTwoModels } from './two-models.js'
import type { RawConnection } from './raw-connection.js'

/** Cycles of each kind. */
const cycleCountDefault = 100
/** Cycles of one kind before the kind changes. */
const cyclesPerBlock = 10
/** Cycles after each change that are not counted. */
const settleCount = 2

type Kind = 'with' | 'without'

interface Figures {
  readonly samplesMs: Record<Kind, number[]>
  readonly bytes: Record<Kind, number>
  /** Ids of the cycles that were posted while there was a shadow. */
  readonly shadowed: string[]
}

export async function measureShadow(size: RunSize): Promise<Measurement[]> {
  const shape = scaledShape(cycleScenarios.full.shape, size.scale)
  return withServer({}, async (server) => {
    const modelsDir = writeTwoModels(server.scratchDir)
    await server.restart({ UNDERSTUDY_MODELS_DIR: modelsDir, UNDERSTUDY_LOG_LEVEL: 'info' })
    const before = server.usage()
    const { samplesMs, bytes, shadowed, clientBusyShare } = await withGenerator(shape, async (generator) => {
      const connection = generator.connectTo(server)
      const figures = await alternate(size.cycleCount ?? cycleCountDefault, generator, connection, (kind) =>
        setShadow(server, modelsDir, kind),
      )
      return { ...figures, clientBusyShare: connection.takeBusyShare() }
    })
    const after = server.usage()
    await server.stop()
    const scoredCount = await countShadowScores(join(server.scratchDir, 'data'), shadowed)
    if (scoredCount === 0) throw new Error('the shadow has scored no cycle')
    const ratio = median(samplesMs.with) / median(samplesMs.without)
    const note = `with / without a shadow: ${ratio.toFixed(3)}; it scored ${scoredCount} of ${shadowed.length} cycles`
    const row = (kind: Kind): Measurement =>
      measurementOf({
        scenario: `shadow: ${kind}`,
        ...{ samplesMs: samplesMs[kind], bytes: bytes[kind], clientBusyShare, details: { note } },
        busyS: sequentialS(samplesMs[kind]),
        // CPU time includes both kinds.
        before: { ...before, cpuMs: null },
        after: { ...after, cpuMs: null },
      })
    return [row('without'), row('with')]
  })
}

/** Alternates between blocks without and with a shadow, until there are `cycleCount` cycles of each kind. */
async function alternate(
  cycleCount: number,
  generator: CycleGenerator,
  connection: RawConnection,
  set: (kind: Kind) => Promise<void>,
): Promise<Figures> {
  const figures: Figures = {
    samplesMs: { with: [], without: [] },
    bytes: { with: 0, without: 0 },
    shadowed: [],
  }
  const { samplesMs, bytes, shadowed } = figures
  for (let i = 0; i < uncountedCycleCount; i++) await generator.post(connection, await generator.next())
  connection.takeBusyShare()
  for (let kind: Kind = 'without'; ; kind = kind === 'with' ? 'without' : 'with') {
    if (samplesMs.with.length >= cycleCount && kind === 'without') return figures
    if (shadowed.length > 0 || kind === 'with') await set(kind)
    for (let i = 0; i < settleCount; i++) await generator.post(connection, await generator.next())
    const count = Math.min(cyclesPerBlock, cycleCount - samplesMs[kind].length)
    for (let i = 0; i < count; i++) {
      const cycle = await generator.next()
      const { response, tookMs } = await generator.post(connection, cycle)
      samplesMs[kind].push(tookMs)
      bytes[kind] += cycle.request.length + response.length
      if (kind === 'with') shadowed.push(cycle.cycleId)
    }
  }
}

/** Resolves when the server has applied the change. */
async function setShadow(server: ServerUnderTest, modelsDir: string, kind: Kind): Promise<void> {
  const applied = server.logged(kind === 'with' ? '"msg":"shadow scores"' : '"msg":"shadow stopped"')
  setRole(modelsDir, 'SHADOW', kind === 'with' ? modelVersions[1] : null)
  await applied
}

/** The number of cycles with stored shadow scores. The server must have ended. */
async function countShadowScores(dataDir: string, cycleIds: readonly string[]): Promise<number> {
  const built = await builtModule<{ openLmdbStore: typeof openLmdbStore }>('store/index.js')
  const store = await built.openLmdbStore({ dataDir })
  try {
    return cycleIds.filter((cycleId) => {
      const stored = store.findCycle(cycleId)
      return (
        stored !== undefined && store.models.readShadowScores(stored.position, modelVersions[1]) !== undefined
      )
    }).length
  } finally {
    await store.close()
  }
}
