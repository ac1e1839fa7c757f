/**
 * `understudy models compare`: compares the scores of two models for the posts of stored cycles. Scores that are not
 * stored are computed by a replay. The server of the data directory may be running.
 */
import { compareVersions } from '../../history/index.js'
import type { Store, StoredCycle } from '../../store/index.js'
import { printResult, type CommandContext } from '../context.js'
import { CommandError, UsageError } from '../failure.js'
import type { Flags } from '../read-settings.js'
import { rangeOf } from './common.js'
import { comparisonText } from './comparison-text.js'
import { excludedInputText } from './golden.js'
import { withModels } from './loaded-models.js'

const cyclesDefault = 12
export const comparedCyclesMax = 2016

export interface CompareFlags extends Flags {
  readonly cycles?: number
  readonly from?: string
  readonly to?: string
  readonly json?: true
}

export async function compare(
  versions: readonly [first: string, second: string],
  flags: CompareFlags,
  context: CommandContext,
): Promise<void> {
  if (versions[0] === versions[1]) throw new UsageError(`${versions[0]} cannot be compared with itself`)
  if (flags.to !== undefined && flags.from === undefined) throw new UsageError('--to needs --from')
  await withModels(flags, context, 'the comparison failed', async ({ store, codec, load }) => {
    const cycles = chosenCycles(store, flags)
    const comparison = await compareVersions(store, {
      ...{ cycles, versions, codec, load },
      onExcluded: (version, left) => context.printMessage(`${version}: ${excludedInputText(left)}`),
    })
    printResult(context, flags, comparison, () => comparisonText(comparison, context.columns()))
  })
}

/** In order of arrival. */
function chosenCycles(store: Store, { cycles = cyclesDefault, from, to }: CompareFlags): StoredCycle[] {
  const last = store.lastCycle()
  if (last === undefined) throw new CommandError('the data directory has no cycles')
  const range =
    from === undefined
      ? { from: Math.max(1, last.position - cycles + 1), to: last.position }
      : rangeOf(store, from, to ?? last.cycleId)
  const length = range.to - range.from + 1
  if (length > comparedCyclesMax)
    throw new UsageError(`at most ${comparedCyclesMax} cycles can be compared at a time, not ${length}`)
  const chosen: StoredCycle[] = []
  for (const cycle of store.tail(range.from)) {
    if (cycle.position > range.to) break
    chosen.push(cycle)
  }
  return chosen
}
