/**
 * Cycles of several kinds on one server, in turn, so that other load of the machine affects each kind alike.
 */
import { uncountedCycleCount } from './cycles.js'
import type { CycleGenerator } from './cycle-generator.js'
import type { RawConnection } from './raw-connection.js'

const blockCountDefault = 10
/** Cycles after each change that are not counted. */
const settleCount = 2

export interface KindFigures {
  readonly samplesMs: number[]
  bytes: number
  /** Of the counted cycles. */
  readonly cycleIds: string[]
}

export interface Alternation<Kind extends string> {
  /** The server begins as the first one. */
  readonly kinds: readonly [Kind, ...Kind[]]
  /** Of each kind. */
  readonly cycleCount: number
  /** Cycles of one kind before the kind changes. */
  readonly blockCount?: number
  readonly generator: CycleGenerator
  readonly connection: RawConnection
  /** Called before each block of another kind. */
  readonly set: (kind: Kind) => Promise<void>
}

export async function alternate<Kind extends string>({
  kinds,
  cycleCount,
  blockCount = blockCountDefault,
  generator,
  connection,
  set,
}: Alternation<Kind>): Promise<Record<Kind, KindFigures>> {
  const figures = Object.fromEntries(
    kinds.map((kind): [Kind, KindFigures] => [kind, { samplesMs: [], bytes: 0, cycleIds: [] }]),
  ) as Record<Kind, KindFigures>
  for (let i = 0; i < uncountedCycleCount; i++) await generator.post(connection, await generator.next())
  connection.takeBusyShare()
  for (let done = 0; done < cycleCount; done += blockCount)
    for (const kind of kinds) {
      if (done > 0 || kind !== kinds[0]) await set(kind)
      for (let i = 0; i < settleCount; i++) await generator.post(connection, await generator.next())
      const { samplesMs, cycleIds } = figures[kind]
      for (let i = 0; i < Math.min(blockCount, cycleCount - done); i++) {
        const cycle = await generator.next()
        const { response, tookMs } = await generator.post(connection, cycle)
        samplesMs.push(tookMs)
        cycleIds.push(cycle.cycleId)
        figures[kind].bytes += cycle.request.length + response.length
      }
    }
  return figures
}
