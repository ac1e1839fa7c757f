/**
 * What does a shadow cost the answer? Full cycles with and without one shadow of the same size, in turns on one server:
 * what the machine does meanwhile falls on both alike.
 */
import type { openLmdbStore } from '../src/store/index.js'
import { join } from 'node:path'
import { leadCycleCount } from './cycles.js'
import { withMaker, type CycleMaker } from './maker.js'
import { measurementOf, sequentialS, type Measurement } from './measurement.js'
import { builtModule } from './project.js'
import { cycleScenarios, scaledShape, type RunSize } from './scenarios.js'
import { withServer, type ServerUnderTest } from './server-under-test.js'
import { median } from './statistics.js'
import { modelVersions, name, writeTwoModels } from './two-models.js'
import type { Wire } from './wire.js'

/** Cycles of each kind. */
const cycleCountDefault = 100
/** Cycles of one kind before the other has its turn. */
const turnCount = 10
/** Cycles after each change that are not counted. */
const settleCount = 2

type Kind = 'with' | 'without'

interface Figures {
  readonly samplesMs: Record<Kind, number[]>
  readonly bytes: Record<Kind, number>
  /** Cycles that were posted while there was a shadow. */
  readonly shadowed: string[]
}

export async function measureShadow(size: RunSize): Promise<Measurement[]> {
  const shape = scaledShape(cycleScenarios.full.shape, size.scale)
  return withServer({}, async (server) => {
    const modelsDir = writeTwoModels(server.scratchDir)
    await server.restart({ UNDERSTUDY_MODELS_DIR: modelsDir, UNDERSTUDY_LOG_LEVEL: 'info' })
    const before = server.usage()
    const { samplesMs, bytes, shadowed, clientBusyShare } = await withMaker(shape, async (maker) => {
      const wire = maker.wireTo(server)
      const figures = await takeTurns(size.cycleCount ?? cycleCountDefault, maker, wire, (kind) =>
        setShadow(server, modelsDir, kind),
      )
      return { ...figures, clientBusyShare: wire.takeBusyShare() }
    })
    const after = server.usage()
    const report = await server.stop()
    const scoredCount = await countShadowScores(join(server.scratchDir, 'data'), shadowed)
    if (scoredCount === 0) throw new Error('the shadow has scored nothing')
    const ratio = median(samplesMs.with) / median(samplesMs.without)
    const note = `with / without a shadow: ${ratio.toFixed(3)}; it scored ${scoredCount} of ${shadowed.length} cycles`
    const row = (kind: Kind): Measurement =>
      measurementOf({
        scenario: `shadow: ${kind}`,
        ...{ samplesMs: samplesMs[kind], bytes: bytes[kind], clientBusyShare, report, details: { note } },
        busyS: sequentialS(samplesMs[kind]),
        // Both kinds are in it.
        before: { ...before, cpuMs: null },
        after: { ...after, cpuMs: null },
      })
    return [row('without'), row('with')]
  })
}

/** Turns without and with a shadow, until there are `cycleCount` cycles of each kind. */
async function takeTurns(
  cycleCount: number,
  maker: CycleMaker,
  wire: Wire,
  set: (kind: Kind) => Promise<void>,
): Promise<Figures> {
  const figures: Figures = {
    samplesMs: { with: [], without: [] },
    bytes: { with: 0, without: 0 },
    shadowed: [],
  }
  const { samplesMs, bytes, shadowed } = figures
  for (let i = 0; i < leadCycleCount; i++) await maker.post(wire, await maker.next())
  wire.takeBusyShare()
  for (let kind: Kind = 'without'; ; kind = kind === 'with' ? 'without' : 'with') {
    if (samplesMs.with.length >= cycleCount && kind === 'without') return figures
    if (shadowed.length > 0 || kind === 'with') await set(kind)
    for (let i = 0; i < settleCount; i++) await maker.post(wire, await maker.next())
    const count = Math.min(turnCount, cycleCount - samplesMs[kind].length)
    for (let i = 0; i < count; i++) {
      const cycle = await maker.next()
      const { response, tookMs } = await maker.post(wire, cycle)
      samplesMs[kind].push(tookMs)
      bytes[kind] += cycle.request.length + response.length
      if (kind === 'with') shadowed.push(cycle.cycleId)
    }
  }
}

/** Resolves when the server follows. */
async function setShadow(server: ServerUnderTest, modelsDir: string, kind: Kind): Promise<void> {
  const told = server.logged(kind === 'with' ? '"msg":"shadow scores"' : '"msg":"shadow stopped"')
  name(modelsDir, 'SHADOW', kind === 'with' ? modelVersions[1] : null)
  await told
}

/** How many of the cycles have the shadow's scores beside them, in the data directory of a server that has ended. */
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
