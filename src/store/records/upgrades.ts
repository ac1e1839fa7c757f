/**
 * The versions of the layout of what is stored, and how a record of one version becomes records of the next. From version 6 on,
 * a file and a journal of each version are upgraded by every later program. What was released here never changes, and neither do the
 * bytes that the chain of hashes covers (chain.ts).
 */
import { databaseTable } from './databases.js'

/** A record of some version, with its envelope. `database`: its name in the file. */
export interface LayoutRecord {
  readonly database: string
  readonly key: number | Uint8Array
  readonly value: Uint8Array
}

/** The databases of a version: the form of their keys, and their numbers in a journal; null: in no journal. */
export type Layout = Readonly<
  Record<string, { readonly keyEncoding: 'uint32' | 'binary'; readonly kindNumber: number | null }>
>

/** From one version to the next. */
export interface SchemaUpgrade {
  /** What changes, for operators: the rest of a line that begins with the number of the new version. */
  readonly change: string
  /** The layout that it reads. */
  readonly layout: Layout
  /**
   * The records that take the place of one: of this record alone, so that a file and a journal give the same. `value` is valid
   * during the call. The record `schema_version` of the database `meta` is not among them.
   */
  readonly upgrade: (record: LayoutRecord) => readonly LayoutRecord[]
  /** SQL that changes the tables of the journal, if they change. */
  readonly journalTables?: string
}

/** Versions 1 to 5 were never released. */
export const oldestSchema = 6

/** Upgrade i leads from version `oldestSchema` + i to the next. */
export const schemaUpgrades: readonly SchemaUpgrade[] = []

/** A program reads this version, and upgrades those before it, down to `oldestSchema`. */
export const schemaVersion = oldestSchema + schemaUpgrades.length

const currentLayout: Layout = Object.fromEntries(
  Object.values(databaseTable).map(({ name, keyEncoding, kindNumber }) => [
    name,
    { keyEncoding, kindNumber },
  ]),
)

/** The layout of a version that this program knows. */
export function layoutOf(version: number): Layout {
  return upgradesFrom(version)[0]?.layout ?? currentLayout
}

/** The upgrades from a version that this program knows, in order; none from its own. */
export function upgradesFrom(version: number): readonly SchemaUpgrade[] {
  return schemaUpgrades.slice(version - oldestSchema)
}

/** What becomes of a record of version `from`. */
export function upgradedRecords(record: LayoutRecord, from: number): readonly LayoutRecord[] {
  return upgradesFrom(from).reduce<readonly LayoutRecord[]>(
    (records, { upgrade }) => records.flatMap(upgrade),
    [record],
  )
}
