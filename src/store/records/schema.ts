/**
 * What to say about a file or a journal whose layout has another version: which program wrote it, and the way out. From version
 * 6 on, later programs read or upgrade what was written: an older one is never refused.
 */

import { viewOf } from '../../base/index.js'
import { schemaVersion } from './databases.js'
import { readBytes } from './payloads.js'

/** The key of the version in `meta`. */
export const schemaKey = Buffer.from('schema_version')

/** The previews that wrote a layout. */
const previews = new Map([
  [1, '21 to 26 November 2026'],
  [2, '26 November 2026'],
  [3, '26 November 2026'],
  [4, '26 to 28 November 2026'],
  [5, '28 November 2026'],
])

const wayOut = {
  'data directory':
    'To keep its cycles, export them with that program (`understudy export`). Then start this one with an empty data directory: the ' +
    'client sends all pending posts again, as candidates and with their images, and the weights must be set again',
  journal:
    'To keep its cycles, export them with that program (`understudy journal export`, then `understudy export`). Then use an empty ' +
    'database, or drop the schema `understudy`, and run `understudy journal migrate`: the client sends all pending posts ' +
    'again, as candidates and with their images, and the weights must be set again',
}

/** The end of a sentence that begins with the name of a file or `the journal`. `version`: another one than `supported`. */
export function schemaProblem(kind: keyof typeof wayOut, version: number, supported: number): string {
  const has = `has schema version ${version}; this program supports ${supported}`
  if (version > supported)
    return `${has}. A newer program wrote it: start that one, or restore a backup that this one made`
  const days = previews.get(version)
  const writer = days === undefined ? 'An earlier preview' : `A preview of ${days}`
  return `${has}. ${writer} wrote it, which was never released. ${wayOut[kind]}`
}

/** The same of a file, from the record of `schemaKey`; null: its version is that of this program. */
export function schemaProblemOf(record: Uint8Array): string | null {
  const version = viewOf(readBytes(record, 'schema version')).getUint32(0, true)
  return version === schemaVersion ? null : schemaProblem('data directory', version, schemaVersion)
}
