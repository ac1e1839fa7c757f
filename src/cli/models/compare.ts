/**
 * `understudy models compare`: compares the scores of two models for the posts of stored cycles. Scores that are not
 * stored are computed by a replay. The server of the data directory may be running.
 */
import { loadCodec } from '../../codec/index.js'
import { compareVersions } from '../../history/index.js'
import type { Store, StoredCycle } from '../../store/index.js'
import { printResult, type CommandContext } from '../context.js'
import { CommandError, UsageError } from '../failure.js'
import { settingsOf, type Flags } from '../read-settings.js'
import { rangeOf, withStore } from './common.js'
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
    const comparison = await withModels(
      { store, codec, settings, context },
      'the comparison failed',
      (load) =>
        compareVersions(store, {
          ...{ cycles, versions, codec, load },
          onExcluded: (version, left) => context.printMessage(`${version}: ${excludedInputText(left)}`),
        }),
    )
    printResult(context, flags, comparison, () => comparisonText(comparison, context.columns()))
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
