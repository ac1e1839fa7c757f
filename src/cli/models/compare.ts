/**
 * `understudy models compare`: compares the scores of two models for the posts of stored cycles. Scores that are not
 * stored are computed by a replay. The server of the data directory may be running.
 */
import { loadCodec } from '../../codec/index.js'
import { ComparisonFigures, scorePairs, versionQuality } from '../../history/index.js'
import type { Position, Store, StoredCycle } from '../../store/index.js'
import { printResult, type CommandContext } from '../context.js'
import { CommandError, UsageError } from '../failure.js'
import { settingsOf, type Flags } from '../read-settings.js'
import { rangeOf, withStore } from './common.js'
import { versionsSentence } from '../report/wording.js'
import { comparisonText } from './comparison-text.js'
import { excludedInputText } from './golden.js'
import { withModels } from './loaded-models.js'

const cyclesDefault = 12
const cyclesMax = 2016

export async function compare(
  versions: readonly [first: string, second: string],
  flags: Flags,
  context: CommandContext,
): Promise<void> {
  const settings = settingsOf(flags, context)
  if (versions[0] === versions[1]) throw new UsageError(`${versions[0]} cannot be compared with itself`)
  checkFlags(flags)
  await withStore(settings.dataDir, async (store) => {
    const cycles = chosenCycles(store, flags)
    const { codec } = loadCodec(settings.codec)
    const figures = new ComparisonFigures(versions)
    const replayed = new Map(versions.map((version) => [version, new Map<Position, Float32Array>()]))
    await withModels({ store, codec, settings, context }, 'the comparison failed', async (load) => {
      const pairs = scorePairs(store, {
        cycles,
        versions,
        codec,
        load,
        onExcluded: (version, left) => {
          figures.addExcluded(version, left)
          context.printMessage(`${version}: ${excludedInputText(left)}`)
        },
      })
      for await (const pair of pairs) {
        figures.add(pair)
        for (const [index, side] of [pair.first, pair.second].entries())
          if (side.source === 'replay')
            replayed.get(versions[index] as string)?.set(pair.cycle.position, Float32Array.from(side.scores))
      }
    })
    const comparison = await figures.comparison(store, cycles)
    const times = cycles.map(({ cycleAtMs }) => cycleAtMs)
    const quality = await versionQuality(store, versions, replayed, {
      ...{ fromMs: Math.min(...times), toMs: Math.max(...times) },
    })
    printResult(context, flags, { ...comparison, quality }, () => {
      const text = comparisonText(comparison, context.columns())
      return quality === null ? text : `${text}\n${versionsSentence(quality.difference)}\n`
    })
  })
}

function checkFlags({ cycles, from, to }: Flags): void {
  if (cycles !== undefined && from !== undefined)
    throw new UsageError('--cycles and --from exclude each other')
  if (to !== undefined && from === undefined) throw new UsageError('--to needs --from')
  if (
    cycles !== undefined &&
    !(Number.isInteger(cycles) && Number(cycles) >= 1 && Number(cycles) <= cyclesMax)
  )
    throw new UsageError(
      `--cycles must be a whole number from 1 to ${cyclesMax}, not ${JSON.stringify(cycles)}`,
    )
}

/** In order of arrival. */
function chosenCycles(store: Store, { cycles, from, to }: Flags): StoredCycle[] {
  const last = store.lastCycle()
  if (last === undefined) throw new CommandError('the data directory has no cycles')
  const count = typeof cycles === 'number' ? cycles : cyclesDefault
  const range =
    typeof from === 'string'
      ? rangeOf(store, from, typeof to === 'string' ? to : last.cycleId)
      : { from: Math.max(1, last.position - count + 1), to: last.position }
  const length = range.to - range.from + 1
  if (length > cyclesMax)
    throw new UsageError(`at most ${cyclesMax} cycles can be compared at a time, not ${length}`)
  const chosen: StoredCycle[] = []
  for (const cycle of store.tail(range.from)) {
    if (cycle.position > range.to) break
    chosen.push(cycle)
  }
  return chosen
}
