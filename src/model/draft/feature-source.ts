/**
 * Feature names in the order of a graph's columns, from the header of a CSV file, a text file, or a JSON file; of a CSV file
 * also its rows, for a trial batch.
 */
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { isObject, parseJson } from '../../base/index.js'
import { findFeature } from '../features/catalogue.js'
import { accessFile } from '../package/read-file.js'
import type { Inventory } from './inventory.js'

/** The beginning of a file is read: a table for training may be large. */
const rowsMax = 2000

export interface FeatureSource {
  /** The file, or what else gave the names. */
  readonly from: string
  /** All names of the source. Of a CSV file: of all columns. */
  readonly names: readonly string[]
  /** Values by column, NaN for an empty cell; null if the source has no rows. */
  readonly rows: readonly (readonly number[])[] | null
}

/** The features among the columns of a source, with the index of each. */
export interface ChosenFeatures {
  readonly names: readonly string[]
  readonly columns: readonly number[]
}

/** `given`: a file, or names separated by commas. */
export async function givenSource(given: string, isFile: boolean): Promise<FeatureSource> {
  if (!isFile) return { from: '--features', names: splitNames(given), rows: null }
  return sourceIn(given, await accessFile(given, () => readFile(given, 'utf8')))
}

/** The files of a package that may name its features, the likeliest first, and last the features of its golden cases. */
export async function packageSources(inventory: Inventory): Promise<FeatureSource[]> {
  const named = inventory
    .ending('.csv', '.txt', '.json')
    .filter((file) => file.endsWith('.csv') || /(feature|column)s?[^/]*$/i.test(file))
  const rank = (file: string): number => (/feature/i.test(basename(file)) ? 0 : file.endsWith('.csv') ? 2 : 1)
  const ordered = named.sort((a, b) => rank(a) - rank(b))
  const sources = await Promise.all(
    ordered.map(async (file) =>
      sourceIn(file, await accessFile(inventory.path(file), () => readFile(inventory.path(file), 'utf8'))),
    ),
  )
  const golden = await inventory.json(inventory.files.includes('golden.json') ? 'golden.json' : null)
  const [first] = Array.isArray(golden?.['cases']) ? (golden['cases'] as unknown[]) : []
  const features = isObject(first) && isObject(first['features']) ? Object.keys(first['features']) : []
  return [...sources, { from: 'golden.json', names: features, rows: null }].filter(
    ({ names }) => names.length > 0,
  )
}

/**
 * The columns that are features: those of the graph's `inputs` if the source has them, else all of them if there are `width`, else
 * those that the catalogue has, if there are `width` of these: a table for training has keys and labels too. null: neither.
 */
export function chooseFeatures(
  { names }: FeatureSource,
  width: number | null,
  inputs: readonly string[] | null = null,
): ChosenFeatures | null {
  const all = names.map((_, index) => index)
  const known = all.filter((index) => findFeature(names[index]!) !== undefined)
  const named = all.filter((index) => inputs?.includes(names[index]!))
  const columns =
    [named, all, known].find(({ length }) => length === width) ??
    (width === null && known.length > 0 ? known : null)
  return columns && { names: columns.map((index) => names[index]!), columns }
}

function sourceIn(file: string, text: string): FeatureSource {
  if (file.endsWith('.csv')) return csvSource(file, text)
  const names = file.endsWith('.json') ? jsonNames(parseJson(text)) : lineNames(text)
  return { from: file, names, rows: null }
}

function jsonNames(value: unknown): string[] {
  const list = isObject(value) ? (value['features'] ?? value['feature_names'] ?? value['columns']) : value
  return Array.isArray(list) && list.every((name) => typeof name === 'string') ? list : []
}

/** One name a line, or separated by commas; a line that begins with # is a comment. */
function lineNames(text: string): string[] {
  return text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .filter((line) => !line.trimStart().startsWith('#'))
    .flatMap(splitNames)
}

function splitNames(line: string): string[] {
  return line
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

function csvSource(file: string, text: string): FeatureSource {
  const [header = '', ...lines] = text.replace(/^\uFEFF/, '').split(/\r?\n/, rowsMax + 1)
  const rows = lines.filter((line) => line !== '').map((line) => cellsOf(line).map(numberOf))
  return { from: file, names: cellsOf(header), rows: rows.length === 0 ? null : rows }
}

/** Cells of a line; quoted ones may contain commas and doubled quotes. */
function cellsOf(line: string): string[] {
  return [...`,${line}`.matchAll(/,(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain = '']) =>
    (quoted?.replaceAll('""', '"') ?? plain).trim(),
  )
}

/** NaN for an empty cell and for a text, such as a key. */
function numberOf(cell: string): number {
  return cell === '' ? NaN : Number(cell)
}
