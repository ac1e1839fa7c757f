/**
 * Tables of figures, declared once for every reader: `report-tables.ts` and `explain-tables.ts` say what each column is and
 * contains; the commands write them as text, and the page and its documents as HTML. The kind of a cell says how it is written.
 */
import type { Estimate, ExplainedInput } from './history-api.js'
import type { ShownInput } from './input-words.js'

/** What a cell contains, by its kind. Null: it cannot be computed, or is not known. */
export interface CellValues {
  /** A name that somebody else has written. */
  readonly name: string | null
  /** A text of the tables themselves. */
  readonly text: string
  /** An order of posts: of a model, or a simple one that models are compared with. */
  readonly order: { readonly name: string; readonly isBaseline: boolean }
  /** An identifier of the API, which has words in each language. */
  readonly word: string | null
  /** The same, good or bad: an outcome, a verdict. */
  readonly state: string
  readonly count: number | null
  /** Between 0 and 1, without decimals. */
  readonly share: number | null
  /** Between 0 and 1, with one decimal: for shares that are small. */
  readonly rate: number | null
  readonly decimal: number | null
  readonly correlation: number | null
  /** A share with its interval. */
  readonly estimate: Estimated
  /** The same, where a random order has 0.5. */
  readonly ranked: Estimated
  /** A difference of two shares with its interval. */
  readonly difference: Estimated
  /** Days that an extrapolation needs: from `furtherDaysMax` on it says nothing but that. */
  readonly daysNeeded: number | null
  readonly minutes: number | null
  readonly hours: number | null
  readonly time: string | null
  /** Null if the cycle has expired. */
  readonly cycle: string | null
  readonly post: { readonly gall_id: string | null; readonly post_no: number | null }
  readonly score: number | null
  readonly rank: { readonly rank: number | null; readonly of: number }
  readonly input: Pick<ExplainedInput, 'name' | 'shown'>
  readonly inputValue: InputValue
  /** What a value adds to a score. */
  readonly change: number | null
  /** The same, the largest of which the rows are ordered by. */
  readonly effect: number | null
}

export type Estimated = Pick<Estimate, 'mean' | 'ci95'>

export interface InputValue {
  readonly shown: ShownInput
  readonly value: number | null
  /** What stands for it if the value is null or no number to read. */
  readonly instead: string | null
}

export type CellKind = keyof CellValues
export type Cell = { [Kind in CellKind]: { readonly kind: Kind; readonly value: CellValues[Kind] } }[CellKind]

/** An estimate of a longer time would say nothing. */
export const furtherDaysMax = 365

export interface TableColumn {
  readonly title: string
  readonly kind: CellKind
  /** A telephone has no room for it. */
  readonly isWideOnly: boolean
}

/** The first column names the rows. */
export interface DataTable {
  /** What the table contains, in one line. */
  readonly caption: string
  readonly columns: readonly TableColumn[]
  readonly rows: readonly (readonly Cell[])[]
}

/** A column, and what it contains of a row. */
export type ColumnOf<Row> = {
  [Kind in CellKind]: {
    readonly title: string
    readonly kind: Kind
    readonly isWideOnly?: true
    readonly of: (row: Row) => CellValues[Kind]
  }
}[CellKind]

export function dataTable<Row>(
  caption: string,
  rows: readonly Row[],
  columns: readonly ColumnOf<Row>[],
): DataTable {
  return {
    caption,
    columns: columns.map(({ title, kind, isWideOnly = false }) => ({ title, kind, isWideOnly })),
    rows: rows.map((row) => columns.map(({ kind, of }) => ({ kind, value: of(row) }) as Cell)),
  }
}

/** What the value of an input adds to the score, compared with the median, else with none. The service orders the inputs by it. */
export function effectOf({ over_median, over_missing }: ExplainedInput): number | null {
  return over_median ?? over_missing
}
