/**
 * A write as LMDB, memory and the journal commit it: a set of changes, each of one record.
 */
import type { DatabaseName, Databases, Kind, RecordDatabase } from './databases.js'

export interface Change<Name extends DatabaseName = Kind> {
  readonly kind: Name
  readonly key: number | Uint8Array
  /** The record with its envelope; null removes it. */
  readonly value: Uint8Array | null
}

export function applyChanges(databases: Databases, changes: readonly Change<DatabaseName>[]): void {
  for (const { kind, key, value } of changes) {
    const database: RecordDatabase<number | Uint8Array> = databases[kind]
    if (value === null) database.remove(key)
    else database.put(key, value)
  }
}
