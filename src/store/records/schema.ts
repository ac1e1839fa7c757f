/**
 * The record with the version of the layout, and what to say about a file or a journal of another version: which program wrote
 * it, and the way out. The layout of this record never changes.
 */
import { viewOf } from '../../base/index.js'
import { packBytes, readBytes } from './payloads.js'
import { oldestSchema, schemaVersion } from './upgrades.js'

/** The key of the version in `meta`. */
export const schemaKey = Buffer.from('schema_version')

/** The version that `schemaRecord` has packed. Throws a StoreError `unusable` for a damaged record. */
export function schemaVersionOf(record: Uint8Array): number {
  return viewOf(readBytes(record, 'schema version')).getUint32(0, true)
}

/** The record of a file that this program writes. */
export function schemaRecord(): Uint8Array {
  const value = new Uint8Array(4)
  viewOf(value).setUint32(0, schemaVersion, true)
  return packBytes(value)
}

/** Whether this program upgrades what has this version. */
export function canUpgrade(version: number): boolean {
  return version >= oldestSchema && version < schemaVersion
}

/** The previews that wrote a layout. */
const previews = new Map([
  [1, '21 to 26 November 2026'],
  [2, '26 November 2026'],
  [3, '26 November 2026'],
  [4, '26 to 28 November 2026'],
  [5, '28 November 2026'],
])

const upgradeOf = {
  'data directory': 'Start the service, which upgrades it, or run `understudy upgrade`',
  journal: 'Run `understudy journal migrate`',
}

const wayOut = {
  'data directory':
    'To keep its cycles, export them with that program (`understudy export`). Then start this one with an empty data directory: the ' +
    'client sends all pending posts again, as candidates and with their images, and the weights must be set again',
  journal:
    'To keep its cycles, export them with that program (`understudy journal export`, then `understudy export`). Then use an empty ' +
    'database, or drop the schema `understudy`, and run `understudy journal migrate`: the client sends all pending posts ' +
    'again, as candidates and with their images, and the weights must be set again',
}

/** The end of a sentence that begins with the name of a file or `the journal`; null: its version is that of this program. */
export function schemaProblem(kind: keyof typeof wayOut, version: number): string | null {
  if (version === schemaVersion) return null
  const has = `has schema version ${version}; this program supports ${schemaVersion}`
  if (version > schemaVersion)
    return `${has}. A newer program wrote it: start that one, or restore a backup that this one made`
  if (canUpgrade(version)) return `${has}. ${upgradeOf[kind]}`
  const days = previews.get(version)
  const writer = days === undefined ? 'An earlier preview' : `A preview of ${days}`
  return `${has}. ${writer} wrote it, which was never released. ${wayOut[kind]}`
}
