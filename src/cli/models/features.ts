/**
 * `understudy models features` and `matrix`: the feature catalogue, and its values for stored cycles. The same code
 * computes the features for training and for serving.
 */
import { closeSync, openSync, writeSync } from 'node:fs'
import { resolve } from 'node:path'
import { featureMatrices, replayCycles, type ReplayedCycle } from '../../history/index.js'
import { catalogue, featureGroups, findFeature, nearestFeature, type Feature } from '../../model/index.js'
import { gallIdAt } from '../../pool/index.js'
import { printResult, type CommandContext } from '../context.js'
import { CommandError, messageLine, UsageError } from '../failure.js'
import { formatTable } from '../text/text-table.js'
import { settingsOf, type Flags } from '../settings/read-settings.js'
import { rangeOf, withStore } from '../store/open-store.js'

const keyColumns = ['cycle_id', 'gall_id', 'post_no']

export function listFeatures(flags: Flags, context: CommandContext): void {
  const features = Object.entries(featureGroups).flatMap(([group, members]) =>
    members.map(({ name, formula, missing }) => ({ group, name, missing, formula })),
  )
  printResult(context, flags, features, () => {
    const rows = features.map(({ group, name, missing, formula }) => [
      group,
      name,
      missing === null ? 'never' : String(missing),
      formula,
    ])
    const head = ['group', 'feature', 'missing', 'formula']
    return formatTable(head, rows, { cellsMax: context.columns(), column: 3 })
  })
  if (flags['json'] !== true)
    context.printMessage('\nlog(x) is the natural logarithm of 1 + x. A null or absent value is missing.\n')
}

export interface MatrixFlags extends Flags {
  readonly from: string
  readonly to?: string
  readonly out: string
  readonly features?: string
  readonly missing: 'imputed' | 'nan'
}

/** Writes a CSV file: one line per scored post of the cycles from `--from` to `--to`, in order of arrival. */
export async function writeMatrix(flags: MatrixFlags, context: CommandContext): Promise<void> {
  const settings = settingsOf(flags, context)
  const { from, to = from, missing } = flags
  const features = flags.features === undefined ? catalogue : chosenFeatures(flags.features)
  const file = resolve(context.directory, flags.out)
  const matrixOf = featureMatrices(features, missing)
  await withStore(settings.dataDir, async (store) => {
    const range = rangeOf(store, from, to)
    const out = openFile(file)
    let rowCount = 0
    try {
      writeSync(out, `${[...keyColumns, ...features.map(({ name }) => name)].join(',')}\n`)
      for await (const cycle of replayCycles(store, range)) {
        const lines = linesOf(cycle, features.length, matrixOf(cycle))
        rowCount += lines.length
        writeSync(out, lines.join(''))
      }
    } finally {
      closeSync(out)
    }
    context.print(`${rowCount} rows of ${features.length} features written to ${file}\n`)
  })
}

/** The features of a list, in its order. */
export function chosenFeatures(names: string): readonly Feature[] {
  return names.split(',').map((name) => {
    const feature = findFeature(name.trim())
    if (feature === undefined)
      throw new UsageError(
        `the catalogue has no feature ${JSON.stringify(name.trim())}${nearestFeature(name.trim())}`,
      )
    return feature
  })
}

function openFile(file: string): number {
  try {
    return openSync(file, 'wx')
  } catch (cause) {
    throw new CommandError(`cannot write ${file}: ${messageLine(cause)}`, { cause })
  }
}

function linesOf({ cycle, plan }: ReplayedCycle, width: number, matrix: Float32Array): string[] {
  const { scoring, next } = plan
  return Array.from({ length: scoring.count }, (_, row) => {
    const slot = scoring.slots[row]!
    const values = Array.from(matrix.subarray(row * width, (row + 1) * width), cell)
    return `${[cycle.cycleId, quote(gallIdAt(next, slot)), next.postNo[slot]!, ...values].join(',')}\n`
  })
}

/**
 * The float32 as a double, exactly: nine digits would identify it too, but only for a reader that rounds to float32. A
 * missing value is an empty cell.
 */
function cell(value: number): string {
  return Number.isNaN(value) ? '' : String(value)
}

function quote(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
