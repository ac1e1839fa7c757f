/**
 * `understudy models compare`: compares the scores of two models for the posts of stored cycles. Scores that are not
 * stored are computed by a replay. The server of the data directory may be running.
 */
import { compareVersions, failures, lastCycles } from '../../history/index.js'
import type { Store, StoredCycle } from '../../store/index.js'
import { printResult, type CommandContext } from '../context.js'
import { UsageError } from '../failure.js'
import type { Flags } from '../settings/read-settings.js'
import { rangeOf } from '../store/open-store.js'
import { comparisonText } from './comparison-text.js'
import { excludedInputText } from './golden.js'
import { withModels } from '../store/open-store.js'

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
  await withModels(flags, context, failures.compare, async ({ store, load }) => {
    const cycles = chosenCycles(store, flags)
    const comparison = await compareVersions(store, {
      cycles,
      versions,
      load,
      onExcluded: (version, excluded) => context.printMessage(`${version}: ${excludedInputText(excluded)}`),
    })
    printResult(context, flags, comparison, () => comparisonText(comparison, context.columns()))
  })
}

/** Ordered by arrival. */
function chosenCycles(store: Store, { cycles = cyclesDefault, from, to }: CompareFlags): StoredCycle[] {
  if (from === undefined) return lastCycles(store, cycles)
  const range = rangeOf(store, from, to ?? store.lastCycle()?.cycleId ?? '')
  const length = range.to - range.from + 1
  if (length > comparedCyclesMax)
    throw new UsageError(`at most ${comparedCyclesMax} cycles can be compared at a time, not ${length}`)
  return [...store.tail(range.from)].filter(({ position }) => position <= range.to)
}
