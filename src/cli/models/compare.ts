/**
 * `understudy models compare`: two models over the same scored posts of stored cycles, whatever of it has been scored
 * already. Reads a data directory while its server runs.
 */
import { loadCodec } from '../../codec/index.js'
import { scorePairs, sourceOf, type LeftOut } from '../../history/index.js'
import { loadModel, ModelError, type LoadedModel } from '../../model/index.js'
import type { Settings } from '../../server/index.js'
import type { Store, StoredCycle } from '../../store/index.js'
import type { CommandContext } from '../context.js'
import { CommandError, messageOf, UsageError } from '../failure.js'
import { comparisonText } from './comparison-text.js'
import { Figures } from './figures.js'
import { checkIdentity } from './identity.js'
import { leftOutText } from './report-text.js'
import { loadOptions, type Flags } from './settings.js'
import { positionOf, withStore } from './stored-cycles.js'

const cyclesDefault = 12
const cyclesMax = 2016

export async function compare(
  versions: readonly [first: string, second: string],
  settings: Settings,
  flags: Flags,
  context: CommandContext,
): Promise<void> {
  const [first, second] = versions
  if (first === second) throw new UsageError(`${first} cannot be compared with itself`)
  checkFlags(flags)
  await withStore(settings.dataDir, async (store) => {
    const cycles = chosenCycles(store, flags)
    sayReplays(store, cycles, versions, context)
    const loaded: LoadedModel[] = []
    const load = async (version: string): Promise<LoadedModel> => {
      const model = await loadModel({ ...loadOptions(version, settings, context), codec })
      loaded.push(model)
      // Else other files would be compared with their name alone.
      checkIdentity(store, model)
      return model
    }
    const { codec } = loadCodec(settings.codec)
    const figures = new Figures(versions)
    try {
      const leftOut = (version: string, left: LeftOut): void => {
        figures.leaveOut(version, left)
        context.remark(`${version}: ${leftOutText(left)}`)
      }
      const scored = scorePairs(store, { cycles, versions, codec, load, leftOut })
      for await (const cycle of scored) figures.add(cycle)
    } catch (error) {
      // Both say what is wrong themselves.
      if (error instanceof ModelError || error instanceof CommandError) throw error
      throw new CommandError(`cycles cannot be compared: ${messageOf(error)}`, { cause: error })
    } finally {
      await Promise.all(loaded.map((model) => model.close()))
    }
    const comparison = await figures.comparison(store, cycles)
    if (flags['json'] === true) context.print(`${JSON.stringify(comparison, null, 2)}\n`)
    else context.print(comparisonText(comparison, context.columns()))
  })
}

function checkFlags({ cycles, from, to }: Flags): void {
  if (cycles !== undefined && from !== undefined)
    throw new UsageError('--cycles and --from exclude each other')
  if (to !== undefined && from === undefined) throw new UsageError('--to needs --from')
  const count = cycles ?? cyclesDefault
  if (typeof count !== 'number' || !Number.isInteger(count) || count < 1 || count > cyclesMax)
    throw new UsageError(
      `--cycles must be a whole number from 1 to ${cyclesMax}, not ${JSON.stringify(count)}`,
    )
}

/** In order of arrival. */
function chosenCycles(store: Store, { cycles, from, to }: Flags): StoredCycle[] {
  const last = store.lastCycle()?.position
  if (last === undefined) throw new CommandError('no cycle is stored in the data directory')
  const count = typeof cycles === 'number' ? cycles : cyclesDefault
  const start = typeof from === 'string' ? positionOf(store, from) : Math.max(1, last - count + 1)
  const end = typeof to === 'string' ? positionOf(store, to) : last
  if (end < start) throw new UsageError(`cycle ${String(to)} arrived before cycle ${String(from)}`)
  if (end - start >= cyclesMax)
    throw new UsageError(`that is ${end - start + 1} cycles; at most ${cyclesMax} are compared at a time`)
  const chosen: StoredCycle[] = []
  for (const cycle of store.tail(start)) {
    if (cycle.position > end) break
    chosen.push(cycle)
  }
  return chosen
}

/** A replay takes its time, with a text encoder most of all. */
function sayReplays(
  store: Store,
  cycles: readonly StoredCycle[],
  versions: readonly string[],
  { remark }: CommandContext,
): void {
  for (const version of versions) {
    const count = cycles.filter((cycle) => sourceOf(store, cycle, version) === 'replay').length
    if (count > 0) remark(`${version} did not score ${count} of ${cycles.length} cycles, and does so now.\n`)
  }
}
