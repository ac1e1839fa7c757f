/**
 * How much does a shadow delay responses? Sends full cycles with and without one shadow of the same size, alternating on
 * one server, so that other load of the machine affects both.
 */
import type { openLmdbStore } from '../src/store/index.js'
import { join } from 'node:path'
import { alternate } from './alternation.js'
import { withGenerator } from './cycle-generator.js'
import { measurementOf, sequentialS, type Measurement } from './measurement.js'
import { builtModule } from './project.js'
import { cycleScenarios, scaledShape, type RunSize } from './scenarios.js'
import { withServer, type ServerUnderTest } from './server-under-test.js'
import { median } from './statistics.js'
import { modelVersions, setRole, writeTwoModels } from './two-models.js'

/** Cycles of each kind. */
const cycleCountDefault = 100
type Kind = 'with' | 'without'

export async function measureShadow(size: RunSize): Promise<Measurement[]> {
  const shape = scaledShape(cycleScenarios.full.shape, size.scale)
  return withServer({}, async (server) => {
    const modelsDir = writeTwoModels(server.scratchDir)
    await server.restart({ UNDERSTUDY_MODELS_DIR: modelsDir, UNDERSTUDY_LOG_LEVEL: 'info' })
    const before = server.usage()
    const { figures, clientBusyShare } = await withGenerator(shape, async (generator) => {
      const connection = generator.connectTo(server)
      const found = await alternate<Kind>({
        kinds: ['without', 'with'],
        generator,
        connection,
        cycleCount: size.cycleCount ?? cycleCountDefault,
        set: (kind) => setShadow(server, modelsDir, kind),
      })
      return { figures: found, clientBusyShare: connection.takeBusyShare() }
    })
    const after = server.usage()
    await server.stop()
    const shadowed = figures.with.cycleIds
    const scoredCount = await countShadowScores(join(server.scratchDir, 'data'), shadowed)
    if (scoredCount === 0) throw new Error('the shadow has scored no cycle')
    const ratio = median(figures.with.samplesMs) / median(figures.without.samplesMs)
    const note = `with / without a shadow: ${ratio.toFixed(3)}; it scored ${scoredCount} of ${shadowed.length} cycles`
    const row = (kind: Kind): Measurement => {
      const { samplesMs, bytes } = figures[kind]
      return measurementOf({
        scenario: `shadow: ${kind}`,
        samplesMs,
        bytes,
        clientBusyShare,
        details: { note },
        busyS: sequentialS(samplesMs),
        // CPU time includes both kinds.
        before: { ...before, cpuMs: null },
        after: { ...after, cpuMs: null },
      })
    }
    return [row('without'), row('with')]
  })
}

/** Resolves when the server has applied the change. */
async function setShadow(server: ServerUnderTest, modelsDir: string, kind: Kind): Promise<void> {
  const applied = server.logged(kind === 'with' ? '"msg":"shadow model started"' : '"msg":"shadow stopped"')
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
