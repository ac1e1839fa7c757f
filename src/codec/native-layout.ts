/**
 * The columns of each member of a cycle: how native code reads the member and which columns of `CycleColumns` it fills.
 * The rules of the members (ranges, enums, required members) are in the contract's shapes; `native-plan.ts` joins both.
 */
import { counterNames, snapshotNames, textMeasureNames } from '../contract/index.js'

export type ColumnType = 'f64' | 'u32' | 'u8'

/** A column: `path` is its name in the columns of its list, such as `title.chars`. */
export interface ColumnPlace {
  readonly path: string
  readonly type: ColumnType
}

/** Kinds of `value_kind` in native/plan.h. */
export type ValueKind =
  | 'ignored_text'
  | 'fixed_text'
  | 'key'
  | 'measured_text'
  | 'date_time'
  | 'integer'
  | 'integer_list'
  | 'enum_text'
  | 'enum_number'
  | 'rows'

export interface MemberLayout {
  readonly kind: ValueKind
  readonly html?: boolean
  readonly columns: readonly ColumnPlace[]
}

export interface ObjectLayout {
  /** Columns for start and end of a row in the body, or none. */
  readonly slice: readonly ColumnPlace[]
  readonly members: Readonly<Record<string, MemberLayout>>
}

const keyMembers = {
  gall_id: { kind: 'key', columns: [u32('gallery')] },
  post_no: integer('postNo'),
} as const satisfies Record<string, MemberLayout>

/** The body itself: one row. */
export const rootLayout: ObjectLayout = {
  slice: [],
  members: {
    cycle_id: { kind: 'fixed_text', columns: [u32('cycleIdStart'), u32('cycleIdEnd')] },
    cycle_time: {
      kind: 'date_time',
      columns: [...instant('cycleAt').columns, u32('cycleTimeStart'), u32('cycleTimeEnd')],
    },
    candidates: { kind: 'rows', columns: [] },
    engagement: { kind: 'rows', columns: [] },
    candidate_scores: { kind: 'rows', columns: [] },
    removals: { kind: 'rows', columns: [] },
  },
}

/** Lists of rows, in the order of `rootLayout`. */
export const listLayouts = {
  candidates: {
    slice: [u32('rowStart'), u32('rowEnd')],
    members: {
      ...keyMembers,
      title: measured('title', false),
      created_at: instant('createdAt'),
      extracted_at: instant('extractedAt'),
      source: { kind: 'enum_text', columns: [u8('source')] },
      manual_flag: { kind: 'enum_number', columns: [u8('manualFlag')] },
      images_in_post: integer('imagesInPost'),
      image_positions: {
        kind: 'integer_list',
        columns: [f64('imagesExpected'), u32('imagePositionsFingerprint')],
      },
      body_html: measured('body', true, 'bodyPresent'),
      gallery_type: { kind: 'enum_text', columns: [u8('galleryType')] },
      category_id: integer('categoryId'),
    },
  },
  engagement: {
    slice: [],
    members: {
      ...keyMembers,
      observed_at: instant('observedAt'),
      status: { kind: 'enum_text', columns: [u8('status')] },
      ...Object.fromEntries(counterNames.map((name) => [name, integer(name)])),
    },
  },
  candidate_scores: {
    slice: [],
    members: {
      ...keyMembers,
      snapshot_at: instant('snapshotAt'),
      ...Object.fromEntries(snapshotNames.map((name) => [name, integer(name)])),
    },
  },
  removals: {
    slice: [],
    members: {
      ...keyMembers,
      reason: { kind: 'enum_text', columns: [u8('reason')] },
      decided_at: { kind: 'date_time', columns: [f64('decidedAtMs')] },
      tier: { kind: 'enum_text', columns: [u8('tier')] },
      reason_code: { kind: 'ignored_text', columns: [] },
    },
  },
} as const satisfies Record<string, ObjectLayout>

export type ListName = keyof typeof listLayouts

function f64(path: string): ColumnPlace {
  return { path, type: 'f64' }
}

function u32(path: string): ColumnPlace {
  return { path, type: 'u32' }
}

function u8(path: string): ColumnPlace {
  return { path, type: 'u8' }
}

function integer(path: string): MemberLayout {
  return { kind: 'integer', columns: [f64(path)] }
}

function instant(prefix: string): MemberLayout {
  return { kind: 'date_time', columns: [f64(`${prefix}Ms`), f64(`${prefix}Fraction`)] }
}

function measured(group: string, html: boolean, present?: string): MemberLayout {
  const measures = textMeasureNames.map((name) => u32(`${group}.${name}`))
  return {
    kind: 'measured_text',
    html,
    columns: present === undefined ? measures : [...measures, u8(present)],
  }
}
