/**
 * `understudy models golden`: writes golden cases from a stored cycle into a package, with the outputs that the model
 * computes here. Verification compares the outputs of other machines and providers with them.
 */
import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { isPresent, minuteMs, withRelease, writeFileDurably } from '../../base/index.js'
import { Quarantine } from '../../cycle/index.js'
import {
  positionOf,
  replayCycles,
  replayedInputs,
  type ExcludedInput,
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
import { gallIdAt } from '../../pool/index.js'
import type { Store } from '../../store/index.js'
import type { CommandContext } from '../context.js'
import { CommandError } from '../failure.js'
import { settingsOf, type Flags } from '../settings/read-settings.js'
import { loadOptions } from './common.js'
import { withStore } from '../store/open-store.js'

const goldenName = 'golden.json'
const imagesName = 'golden'
export const goldenCasesMax = 1000
/** Upper limit for encoding the texts of all cases. */
const encodeMsMax = 10 * minuteMs

export interface GoldenFlags extends Flags {
  readonly cycle: string
  readonly cases: number
  readonly force?: true
}

export async function recordGoldenCases(
  version: string,
  flags: GoldenFlags,
  context: CommandContext,
): Promise<void> {
  const settings = settingsOf(flags, context)
  const { cycle: cycleId, cases: count } = flags
  const { printMessage } = context
  const modelPackage = await readPackage(settings.modelsDir, version)
  const file = join(modelPackage.directory, goldenName)
  if (isPresent(file) && flags.force !== true) throw new CommandError(`${file} exists; --force overwrites it`)
  const images = join(modelPackage.directory, imagesName)
  if (lstatSync(images, { throwIfNoEntry: false })?.isSymbolicLink() === true)
    throw new CommandError(`${images} is a link: images would be written outside of the package`)
  await withStore(settings.dataDir, async (store) => {
    const position = positionOf(store, cycleId)
    const range = { from: position, to: position }
    const model = await loadModel(loadOptions(version, settings, context))
    const write = async (): Promise<void> => {
      for await (const cycle of replayCycles(store, range)) {
        const golden = await record({ store, model, modelPackage, cycle, count, printMessage })
        const text = `${JSON.stringify(golden, null, 2)}\n`
        writeFileDurably(file, text)
        const action = modelPackage.manifest.golden === undefined ? 'Add' : 'Replace'
        printMessage(
          `${golden.cases.length} cases of cycle ${cycleId} written to ${file}. ${action} this member of manifest.json:\n`,
        )
        context.print(`"golden": { "file": "${goldenName}", "sha256": "${sha256(text)}" }\n`)
        return
      }
      throw new CommandError(`cycle ${cycleId} cannot be replayed`)
    }
    await withRelease(write, () => model.close())
  })
}

interface Recording {
  readonly store: Store
  readonly model: LoadedModel
  readonly modelPackage: ModelPackage
  readonly cycle: ReplayedCycle
  readonly count: number
  readonly printMessage: (text: string) => void
}

async function record(recording: Recording): Promise<GoldenFile> {
  const { store, model, modelPackage, cycle, count, printMessage } = recording
  const scored = cycle.plan.scoring.count
  if (scored === 0) throw new CommandError(`cycle ${cycle.cycle.cycleId} has no scored posts`)
  const taken = Math.min(count, scored)
  // Evenly spread over the scored posts.
  const rows = Array.from({ length: taken }, (_, index) => Math.floor((index * scored) / taken))
  const replayed = await replayedInputs(store, model, cycle, rows, {
    encodeMsMax,
    quarantine: new Quarantine(),
    cache: null,
    onExcluded: (excluded) => printMessage(excludedInputText(excluded)),
  })
  const heads = await model.predict(replayed.inputs)
  const cases = rows.map((row, index) => caseOf(row, index, modelPackage.directory, cycle, replayed))
  return recordGolden(modelPackage, replayed.inputs, heads, cases)
}

/** The name, record and images of a case. Images are written to the package. */
function caseOf(
  row: number,
  index: number,
  directory: string,
  { cycle, plan: { scoring, next }, recordOf }: ReplayedCycle,
  { inputs, jpegs }: ReplayedInputs,
): RecordedRow {
  const slot = scoring.slots[row]!
  const images = (jpegs[index] ?? []).map((bytes, number) => {
    const file = `${imagesName}/${index + 1}-${number + 1}.jpg`
    mkdirSync(join(directory, imagesName), { recursive: true })
    writeFileDurably(join(directory, file), bytes)
    return { file, sha256: sha256(bytes) }
  })
  const name = `${cycle.cycleId} ${gallIdAt(next, slot)}/${next.postNo[slot]!}`
  return { name, record: inputs.textEncoded[slot] === 1 ? recordOf(slot) : null, images }
}

/** A message about an input that a replay skips. */
export function excludedInputText({ what, gallId, postNo, problem }: ExcludedInput): string {
  const whose = what === 'text' ? 'the text' : 'an image'
  return `${whose} of ${gallId}/${postNo} crashes the ${what} encoder and is skipped: ${problem}\n`
}

function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}
