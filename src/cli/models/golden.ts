/**
 * `understudy models golden`: cases out of a stored cycle, scored again by the model here and now. What another machine,
 * another provider or the next export computes is then held against them.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadCodec } from '../../codec/index.js'
import {
  CarefulReplay,
  replayCycles,
  replayedInputs,
  type ReplayedCycle,
  type ReplayedInputs,
} from '../../history/index.js'
import {
  loadModel,
  readPackage,
  recordGolden,
  type GoldenFile,
  type LoadedModel,
  type ModelPackage,
  type RecordedRow,
} from '../../model/index.js'
import type { Settings } from '../../server/index.js'
import type { Store } from '../../store/index.js'
import type { CommandContext } from '../context.js'
import { CommandError, UsageError } from '../failure.js'
import { leftOutText } from './report-text.js'
import { loadOptions, type Flags } from './settings.js'
import { positionOf, withStore } from './stored-cycles.js'

const goldenName = 'golden.json'
const casesMax = 1000
/** Texts of all cases; a bound, not an expectation. */
const encodeMsMax = 10 * 60_000

export async function recordGoldenCases(
  version: string,
  settings: Settings,
  flags: Flags,
  context: CommandContext,
): Promise<void> {
  const cycleId = String(flags['cycle'])
  const count = Number(flags['cases'])
  if (!Number.isInteger(count) || count < 1 || count > casesMax)
    throw new UsageError(`--cases must be a whole number from 1 to ${casesMax}, not ${count}`)
  const found = await readPackage(settings.modelsDir, version)
  const file = join(found.directory, goldenName)
  if (existsSync(file) && flags['force'] !== true)
    throw new CommandError(`${file} is there already; --force replaces it`)
  await withStore(settings.dataDir, async (store) => {
    const model = await loadModel(loadOptions(version, settings, context))
    try {
      const golden = await replaying(store, cycleId, settings, (again) =>
        record(store, model, found, again, count, cycleId, context),
      )
      const text = `${JSON.stringify(golden, null, 2)}\n`
      writeFileSync(file, text)
      say(golden, found, text, cycleId, context)
    } finally {
      await model.close()
    }
  })
}

/** What `use` makes of one stored cycle, replayed. */
async function replaying<T>(
  store: Store,
  cycleId: string,
  { codec }: Settings,
  use: (again: ReplayedCycle) => Promise<T>,
): Promise<T> {
  const position = positionOf(store, cycleId)
  const range = { from: position, to: position, codec: loadCodec(codec).codec }
  for await (const again of replayCycles(store, range)) return await use(again)
  throw new CommandError(`cycle ${cycleId} cannot be replayed`)
}

async function record(
  store: Store,
  model: LoadedModel,
  found: ModelPackage,
  again: ReplayedCycle,
  count: number,
  cycleId: string,
  { remark }: CommandContext,
): Promise<GoldenFile> {
  const scored = again.plan.scoring.count
  if (scored === 0) throw new CommandError(`cycle ${cycleId} has no scored posts`)
  const rows = spread(scored, count)
  const careful = new CarefulReplay((left) => remark(leftOutText(left)))
  const replayed = await replayedInputs(store, model, again, rows, { encodeMsMax, careful, cache: null })
  const heads = await model.predict(replayed.inputs)
  const cases = rows.map((row, index) => keep(row, index, found, again, replayed, cycleId))
  return recordGolden(found, replayed.inputs, heads, cases)
}

/** Up to `count` rows, evenly over all of them. */
function spread(scored: number, count: number): number[] {
  const taken = Math.min(count, scored)
  return Array.from({ length: taken }, (_, index) => Math.floor((index * scored) / taken))
}

/** What a case keeps beside its features; pictures become files of the package. */
function keep(
  row: number,
  index: number,
  { directory }: ModelPackage,
  { plan: { scoring, next } }: ReplayedCycle,
  { records, pictures }: ReplayedInputs,
  cycleId: string,
): RecordedRow {
  const slot = scoring.slots[row] as number
  const gallId = next.galleries[next.gallery[slot] as number] as string
  const images = (pictures[index] ?? []).map((bytes, number) => {
    const file = `golden/${index + 1}-${number + 1}.jpg`
    mkdirSync(join(directory, 'golden'), { recursive: true })
    writeFileSync(join(directory, file), bytes)
    return { file, sha256: sha256(bytes) }
  })
  const name = `${cycleId} ${gallId}/${next.postNo[slot] as number}`
  return { name, record: records[index] ?? null, images }
}

function say(
  golden: GoldenFile,
  { directory, manifest }: ModelPackage,
  text: string,
  cycleId: string,
  { print, remark }: CommandContext,
): void {
  const isNew = manifest.golden === undefined
  remark(
    `${golden.cases.length} cases of cycle ${cycleId} are in ${join(directory, goldenName)}; put this into its ` +
      `manifest.json${isNew ? '' : ', in place of its golden member; until then the package is not sound'}:\n`,
  )
  print(`"golden": { "file": "${goldenName}", "sha256": "${sha256(Buffer.from(text))}" }\n`)
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
