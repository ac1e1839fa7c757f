/**
 * The plan of the native decoder: the contract's shapes (which members, what they may hold) joined with the columns of
 * `CycleColumns` that each member fills. A shape that native code does not support makes this or the addon throw; the
 * reference codec is used then.
 */
import { cycleShape, rowShape, textMeasureNames } from '../contract/index.js'
import type { MemberShape, ObjectShape, ValueShape } from '../contract/index.js'

/** Kinds of `value_kind` in native/plan.h, with the types of their columns; the last ones may be omitted. */
const columnTypes = {
  ignored_text: [],
  fixed_text: [Uint32Array, Uint32Array],
  key: [Uint32Array],
  measured_text: [...textMeasureNames.map(() => Uint32Array), Uint8Array],
  date_time: [Float64Array, Float64Array, Uint32Array, Uint32Array],
  integer: [Float64Array],
  integer_list: [Float64Array, Uint32Array],
  enum_text: [Uint8Array],
  enum_number: [Uint8Array],
  rows: [],
}
type ValueKind = keyof typeof columnTypes
type ColumnType = Float64ArrayConstructor | Uint32ArrayConstructor | Uint8ArrayConstructor

/** Names of the columns of each member, such as `title.chars`. A member that is not listed fills the column of the same name. */
type ColumnNames = Readonly<Record<string, readonly string[]>>

const bodyColumns: ColumnNames = {
  cycle_id: ['cycleIdStart', 'cycleIdEnd'],
  cycle_time: [...instant('cycleAt'), 'cycleTimeStart', 'cycleTimeEnd'],
  candidates: [],
  engagement: [],
  candidate_scores: [],
  removals: [],
}

const keyColumns: ColumnNames = { gall_id: ['gallery'], post_no: ['postNo'] }

const listColumns = {
  candidates: {
    ...keyColumns,
    title: measures('title'),
    created_at: instant('createdAt'),
    extracted_at: instant('extractedAt'),
    manual_flag: ['manualFlag'],
    images_in_post: ['imagesInPost'],
    image_positions: ['imagesExpected', 'imagePositionsFingerprint'],
    body_html: [...measures('body'), 'bodyPresent'],
    gallery_type: ['galleryType'],
    category_id: ['categoryId'],
  },
  engagement: { ...keyColumns, observed_at: instant('observedAt') },
  candidate_scores: { ...keyColumns, snapshot_at: instant('snapshotAt') },
  removals: { ...keyColumns, decided_at: ['decidedAtMs'], reason_code: [] },
} as const satisfies Record<string, ColumnNames>

export type ListName = keyof typeof listColumns

/** Columns for start and end of a row in the body. */
const sliceColumns: Readonly<Partial<Record<ListName, readonly string[]>>> = {
  candidates: ['rowStart', 'rowEnd'],
}

function instant(prefix: string): readonly string[] {
  return [`${prefix}Ms`, `${prefix}Fraction`]
}

function measures(group: string): readonly string[] {
  return textMeasureNames.map((name) => `${group}.${name}`)
}

/** A column of the plan; its index is its position in `NativePlan.columns`. */
export interface PlanColumn {
  /** Position of the object in the plan: 0 is the body, then the lists. */
  readonly object: number
  /** A name, or a group and a name in it. */
  readonly names: readonly string[]
  readonly type: ColumnType
}

export interface NativePlan {
  /** The plan as native/plan.h reads it. */
  readonly json: string
  readonly columns: readonly PlanColumn[]
  /** The body, then the lists. */
  readonly objects: readonly PlanObject[]
  /** Lists in the order of the plan's objects 1, 2, … */
  readonly lists: readonly ListName[]
}

interface PlanObject {
  /** Infinity without a cap. */
  readonly rowCountMax: number
  /** A lower bound on the length of a row in the body. */
  readonly rowBytesMin: number
}

/** Makes the plan of a cycle body. */
export function cyclePlan(): NativePlan {
  const lists = Object.keys(listColumns) as ListName[]
  const columns: PlanColumn[] = []
  const objects = [
    planObject(cycleShape, bodyColumns, [], 0, columns),
    ...lists.map((list, index) =>
      planObject(rowShape(cycleShape, list), listColumns[list], sliceColumns[list] ?? [], index + 1, columns),
    ),
  ]
  return {
    json: JSON.stringify({ column_count: columns.length, objects }),
    columns,
    objects: [
      { rowCountMax: 1, rowBytesMin: rowBytesMin(cycleShape) },
      ...lists.map((list) => ({
        rowCountMax: listCountMax(list),
        rowBytesMin: rowBytesMin(rowShape(cycleShape, list)),
      })),
    ],
    lists,
  }
}

function listCountMax(list: ListName): number {
  const value = cycleShape.members.find(({ name }) => name === list)?.value
  if (value?.kind !== 'array') throw new Error(`${list} is not a list`)
  return value.countMax
}

/** A required member takes two quotes, a colon, a byte for its value, and a comma or bracket besides its name. */
function rowBytesMin(shape: ObjectShape): number {
  return shape.members.reduce((bytes, { name, required }) => bytes + (required ? name.length + 5 : 0), 0)
}

function planObject(
  shape: ObjectShape,
  columnNames: ColumnNames,
  slice: readonly string[],
  object: number,
  columns: PlanColumn[],
): object {
  const place = (paths: readonly string[], types: readonly ColumnType[]): number[] =>
    paths.map((path, i) => columns.push({ object, names: path.split('.'), type: types[i] as ColumnType }) - 1)
  return {
    slice: place(slice, [Uint32Array, Uint32Array]),
    members: shape.members.map((member) => {
      const names = columnNames[member.name] ?? [member.name]
      const kind = kindOf(member, names.length)
      if (names.length > columnTypes[kind].length) throw new Error(`${member.name} has too many columns`)
      return {
        name: member.name,
        required: member.required,
        ...valueRules(member),
        kind,
        ...condition(member, shape),
        columns: place(names, columnTypes[kind]),
      }
    }),
  }
}

function kindOf({ name, value }: MemberShape, columnCount: number): ValueKind {
  switch (value.kind) {
    case 'date-time':
      return 'date_time'
    case 'integer':
      return 'integer'
    case 'enum':
      return typeof value.values[0] === 'string' ? 'enum_text' : 'enum_number'
    case 'array':
      return value.items.kind === 'object' ? 'rows' : 'integer_list'
    case 'string':
      if (value.pattern !== undefined) return 'fixed_text'
      if (value.charsMin === 1) return 'key'
      if (value.charsMin === 0) return columnCount === 0 ? 'ignored_text' : 'measured_text'
  }
  throw new Error(`the native decoder does not support ${name}`)
}

/** The rules of a value, as native/plan.h names them. */
function valueRules({ name, value }: MemberShape): object {
  const { nullable } = value
  if (value.kind === 'array') {
    if (value.items.kind === 'object') return { nullable, rows: Object.keys(listColumns).indexOf(name) + 1 }
    return { nullable, unique: value.unique, ...itemRange(name, value.items, value.countMax) }
  }
  if (value.kind === 'string') {
    const pattern = value.pattern === undefined ? {} : { pattern: fixedLengthTemplate(value.pattern) }
    const limit = value.charsMax === Infinity ? {} : { chars_max: value.charsMax }
    return { nullable, html: name.endsWith('_html'), ...pattern, ...limit }
  }
  return value
}

function itemRange(name: string, items: ValueShape, countMax: number): object {
  if (items.kind !== 'integer' || items.nullable || countMax !== Infinity)
    throw new Error(`${name} must be a list of non-null integers without a maximum length`)
  return { minimum: items.minimum, maximum: items.maximum }
}

/** `^\d{8}T\d{4}$` as `00000000T0000`: a string of fixed length, 0 for any digit. */
function fixedLengthTemplate(pattern: string): string {
  const match = /^\^((?:\\d(?:\{\d+\})?|[A-Za-z])+)\$$/.exec(pattern)
  if (match === null) throw new Error(`not a pattern of fixed length: ${pattern}`)
  return (match[1] as string).replace(/\\d(?:\{(\d+)\})?/g, (_, count: string | undefined) =>
    '0'.repeat(Number(count ?? 1)),
  )
}

function condition({ requiredWhen }: MemberShape, shape: ObjectShape): object {
  if (requiredWhen === undefined) return {}
  const member = shape.members.findIndex(({ name }) => name === requiredWhen.member)
  const value = shape.members[member]?.value
  if (value?.kind !== 'enum') throw new Error(`${requiredWhen.member} is not an enum`)
  return { required_when: { member, code: value.values.indexOf(requiredWhen.value) } }
}
