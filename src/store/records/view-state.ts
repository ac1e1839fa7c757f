/**
 * What a view of a journal keeps of itself, in the database `meta`: which environment it shows, the entry up to which it has
 * read, and the name under which its process holds the lease.
 */
import type { Databases } from './databases.js'
import { packText, readText } from './payloads.js'

export interface ViewState {
  readonly environment: string
  /** Id of the environment in the journal. */
  readonly id: string
  /** Unique for the data directory: a process that starts again takes back its own lease immediately. */
  readonly node: string
  /** The entry up to which the view has read. */
  readonly number: number
  readonly token: string
  /** The head of a reading that is in progress, or was interrupted: some of its changes may be in the view. */
  readonly partial: { readonly number: number; readonly token: string } | null
}

const viewKey = Buffer.from('journal')

/** Null if the databases are no view. */
export function readViewState({ meta }: Pick<Databases, 'meta'>): ViewState | null {
  const record = meta.getBinary(viewKey)
  return record === undefined ? null : (JSON.parse(readText(record, 'state of the view')) as ViewState)
}

export function isViewOfJournal(databases: Pick<Databases, 'meta'>): boolean {
  return databases.meta.doesExist(viewKey)
}

/** Runs within a write. */
export function writeViewState({ meta }: Pick<Databases, 'meta'>, state: ViewState): void {
  meta.put(viewKey, packText(JSON.stringify(state)))
}

/** Makes the databases an independent data directory. Runs within a write. */
export function removeViewState({ meta }: Pick<Databases, 'meta'>): void {
  meta.remove(viewKey)
}
