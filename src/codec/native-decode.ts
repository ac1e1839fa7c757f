/**
 * The native decoder: bytes to `CycleColumns` in one call of the addon. It decodes only bodies that it accepts; the
 * reference decoder examines all others and produces the error messages.
 */
import {
  assert,
  cycleShape,
  type CandidateColumns,
  type CandidateScoreColumns,
  type CycleColumns,
  type EngagementColumns,
  type RemovalColumns,
} from '../contract/index.js'
import { asBuffer, pad } from './body-buffer.js'
import { unknownFields } from './unknown-fields.js'
import { shapeHash, type DecodeColumn, type NativeAddon, type NativeFindings } from './native-addon.js'

/** Decodes a body, or returns null for a body that the reference decoder has to examine. */
export type NativeDecode = (body: Uint8Array) => CycleColumns | null

const bodyMembers = cycleShape.members.map(({ name }) => name)

/** Throws when the addon was generated from another contract. */
export function createNativeDecode(addon: NativeAddon): NativeDecode {
  if (addon.shapeHash !== shapeHash)
    throw new Error('the native codec was generated from another contract; run: npm run build')
  const decoder = new addon.Decoder()
  const columns = addon.decodeColumns.map(({ name, ...column }) => ({ ...column, path: name.split('.') }))
  return (body) => {
    const padded = pad(body)
    const findings = decoder.decode(padded)
    if (findings === null) return null
    const unknown = unknownRows(findings)
    return unknown === null ? null : cycleColumns(padded, columnGroups(columns, findings), findings, unknown)
  }
}

function cycleColumns(
  body: Uint8Array,
  [root, candidates, engagement, candidateScores, removals]: ColumnGroup[],
  { memberOrder, keys, texts }: NativeFindings,
  unknown: readonly (readonly object[])[],
): CycleColumns {
  const { cycleIdStart, cycleIdEnd, cycleTimeStart, cycleTimeEnd, cycleAtMs, cycleAtFraction } =
    root as unknown as RootColumns
  const text = ([start]: Uint32Array, [end]: Uint32Array): string =>
    asBuffer(body).toString('latin1', start, end)
  assert(texts.length === candidates?.['count'], 'each candidate has one title')
  return {
    cycleId: text(cycleIdStart, cycleIdEnd),
    cycleTime: text(cycleTimeStart, cycleTimeEnd),
    cycleAt: { ms: cycleAtMs[0]!, fraction: cycleAtFraction[0]! },
    memberOrder: memberOrder.map((member) => bodyMembers[member]!),
    // Only the titles of a cycle are measured without markup.
    candidates: { ...candidates, titles: texts } as unknown as CandidateColumns,
    engagement: engagement as unknown as EngagementColumns,
    candidateScores: candidateScores as unknown as CandidateScoreColumns,
    removals: removals as unknown as RemovalColumns,
    unknownFields: unknownFields(unknown),
    galleries: keys,
  }
}

/** Null if an unknown member is not JSON. */
function unknownRows({ unknown = [] }: NativeFindings): (readonly object[])[] | null {
  try {
    return unknown.map((text) => (text === '' ? [] : (JSON.parse(text) as object[])))
  } catch {
    return null
  }
}

/** The columns of the body itself. */
type RootColumns = Readonly<
  Record<'cycleIdStart' | 'cycleIdEnd' | 'cycleTimeStart' | 'cycleTimeEnd', Uint32Array> &
    Record<'cycleAtMs' | 'cycleAtFraction', Float64Array>
>

/** Columns by name, some of them in groups such as `title`, and the number of their rows. */
interface ColumnGroup {
  [name: string]: Float64Array | Uint32Array | Uint8Array | ColumnGroup | number
}

/** The columns of each object as views of the block. */
function columnGroups(
  columns: readonly (Omit<DecodeColumn, 'name'> & { readonly path: readonly string[] })[],
  { rowCounts, block }: NativeFindings,
): ColumnGroup[] {
  const groups = rowCounts.map((count): ColumnGroup => ({ count }))
  let start = block.byteOffset
  for (const { object, bytes, path } of columns) {
    const count = rowCounts[object]!
    const type = bytes === 8 ? Float64Array : bytes === 4 ? Uint32Array : Uint8Array
    const values = new type(block.buffer, start, count)
    const group = groups[object]!
    const [first = '', second] = path
    if (second === undefined) group[first] = values
    else ((group[first] ??= {}) as ColumnGroup)[second] = values
    start += Math.ceil((count * bytes) / 8) * 8
  }
  assert(start === block.byteOffset + block.byteLength, 'the columns fill the block')
  return groups
}
