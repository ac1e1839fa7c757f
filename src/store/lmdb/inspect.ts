/**
 * Reads every record of a snapshot: is it valid by itself, and do the records that belong together agree? What
 * the cycles mean is not looked at here.
 */
import type { Databases, RecordDatabase } from './databases.js'
import { imageKeyOf, imageNumbersOf, placementKeyOf } from './keys.js'
import * as records from './records.js'
import { describe } from '../store-error.js'
import type { StoreSnapshot } from './snapshot.js'

const countedNames = [
  ...[
    'cycles',
    'requests',
    'responses',
    'cycleIds',
    'entered',
    'left',
    'availability',
    'evaluations',
    'pool',
  ],
  ...[
    'images',
    'imageBytes',
    'imageUses',
    'embeddings',
    'shadowScores',
    'modelVersions',
    'weights',
    'outcomes',
  ],
] as Exclude<keyof Databases, 'meta'>[]

/** Records by database. */
export type RecordCounts = Record<Exclude<keyof Databases, 'meta'>, number>

/** Largest dimension of an embedding; no encoder has more. */
const embeddingWidthMax = 16_384
const encoderKeyBytes = 16

type Tell = (problem: string) => void

/** Reads all records; calls `tell` with one line for each that is wrong. Blocks while it reads. */
export function inspectRecords({ databases }: StoreSnapshot, tell: Tell): RecordCounts {
  inspectCycles(databases, tell)
  inspectImages(databases, tell)
  inspectModels(databases, tell)
  inspectHistory(databases, tell)
  return countRecords(databases)
}

export function countRecords(databases: Databases): RecordCounts {
  const counts = countedNames.map((name) => {
    const keys = (databases[name].getKeys({}) as Iterable<unknown>)[Symbol.iterator]()
    let count = 0
    while (keys.next().done !== true) count++
    return [name, count]
  })
  return Object.fromEntries(counts) as RecordCounts
}

// ---- cycles

const columnNames = {
  ...{ responses: 'response', entered: 'columns of entered posts', left: 'columns of posts that left' },
  availability: 'availability',
} as const

function inspectCycles(databases: Databases, tell: Tell): void {
  const positions = new Map<number, string>()
  let before: number | undefined
  each(databases.cycles, 'cycles, position', tell, (record, position) => {
    if (before !== undefined && position !== before + 1)
      tell(`cycles: the positions have a gap between ${before} and ${position}`)
    before = position
    positions.set(position, '')
    positions.set(position, records.readHeader(record).cycleId)
  })
  const first = positions.keys().next().value ?? 1
  inspectIds(databases, positions, first, tell)
  for (const name of ['requests', 'responses', 'entered', 'left', 'availability'] as const) {
    const seen = new Set<number>()
    each(databases[name], `${name}, position`, tell, (record, position) => {
      seen.add(position)
      // Before the first retained cycle there are records that a pending post still needs.
      if (position >= first && !positions.has(position))
        tell(`${name}, position ${position}: there is no such cycle`)
      if (name === 'requests') records.readStoredRequest(record)
      else records.readBytes(record, columnNames[name])
    })
    if (name !== 'requests' && name !== 'responses') continue
    for (const position of positions.keys())
      if (!seen.has(position)) tell(`${name}, position ${position}: the record is missing`)
  }
  // An evaluation record outlives the other records of its cycle.
  each(databases.evaluations, 'evaluations, position', tell, (record, position) => {
    const { header } = records.readEvaluation(record)
    const named = positions.get(position)
    if (named === undefined ? position >= first : named !== '' && named !== header.cycleId)
      tell(`evaluations, position ${position}: the record is that of cycle ${header.cycleId}`)
  })
  each(databases.pool, 'pool, key', tell, (record, key) => {
    if (key !== 0) tell(`pool, key ${key}: no such record is ever made`)
    records.readBytes(record, 'pool')
  })
  if (positions.size > 0 && databases.pool.getBinary(0) === undefined) tell('pool: the record is missing')
}

/** Each cycle has its id, and each id its cycle, unless that has expired. */
function inspectIds(
  databases: Databases,
  positions: ReadonlyMap<number, string>,
  first: number,
  tell: Tell,
): void {
  const found = new Set<number>()
  each(databases.cycleIds, 'cycle ids,', tell, (record, key) => {
    const cycleId = Buffer.from(key).toString('latin1')
    const position = records.readPosition(record)
    found.add(position)
    const named = positions.get(position)
    // An empty name is that of an unreadable header, which has been reported.
    if (named === undefined ? position >= first : named !== '' && named !== cycleId)
      tell(`cycle ids, ${cycleId}: position ${position} holds ${named ?? 'no cycle'}`)
  })
  for (const [position, cycleId] of positions)
    if (!found.has(position)) tell(`cycle ids: position ${position} (${cycleId}) cannot be found by its id`)
}

// ---- images, models, weights, outcomes

function inspectImages({ images, imageBytes, imageUses }: Databases, tell: Tell): void {
  each(images, 'images,', tell, (record, key) => {
    const { gallId } = records.readImageIdentity(record)
    const numbers = imageNumbersOf(key)
    const place = `images, ${gallId}/${numbers.postNo}/${numbers.position}`
    if (Buffer.compare(imageKeyOf({ gallId, ...numbers }), key) !== 0)
      tell(`${place}: is stored under the key of another gallery`)
    if (imageBytes.getBinary(key) === undefined) tell(`${place}: its bytes are missing`)
  })
  each(imageBytes, 'image bytes,', tell, (record, key) => {
    records.readBytes(record, 'image')
    if (images.getBinary(key) === undefined)
      tell(`image bytes, ${nameOf(key)}: there is no image of this key`)
  })
  // Images that earlier versions stored may lack one. One whose image was deleted, or has other bytes by now, was
  // left by such a version and is harmless.
  each(imageUses, 'image uses,', tell, (record) => records.readBytes(record, 'image use'))
}

function inspectModels({ embeddings, shadowScores, modelVersions }: Databases, tell: Tell): void {
  const widths = new Map<string, number>()
  each(embeddings, 'embeddings,', tell, (record, key) => {
    const vector = records.readVector(record)
    const encoder = nameOf(key.subarray(0, encoderKeyBytes))
    const width = widths.get(encoder) ?? vector.length
    widths.set(encoder, width)
    if (vector.length === 0 || vector.length > embeddingWidthMax || vector.length !== width)
      tell(`embeddings, ${nameOf(key)}: ${vector.length} numbers, others of the encoder have ${width}`)
    else if (!vector.every(Number.isFinite)) tell(`embeddings, ${nameOf(key)}: a number is not finite`)
  })
  each(shadowScores, 'shadow scores,', tell, (record) => records.readShadowScores(record))
  each(modelVersions, 'model versions,', tell, (record) => records.readText(record, 'identity of a model'))
}

function inspectHistory({ weights, outcomes }: Databases, tell: Tell): void {
  let last = 0
  each(weights, 'weights, number', tell, (record, key) => {
    if (key !== ++last) tell(`weights, number ${key}: number ${last} is missing before it`)
    last = key
    records.readWeights(record)
  })
  each(outcomes, 'outcomes,', tell, (record, key) => {
    const { placementId, record: json } = records.readStoredOutcome(record)
    if (Buffer.compare(placementKeyOf(placementId), key) !== 0)
      tell(`outcomes, ${placementId}: is stored under the key of another placement`)
    JSON.parse(Buffer.from(json).toString())
  })
}

// ---- the pieces

/** Reads each record of a database; what a reading throws is reported with its place. */
function each<Key extends number | Uint8Array>(
  database: RecordDatabase<Key>,
  place: string,
  tell: Tell,
  read: (record: Uint8Array, key: Key) => unknown,
): void {
  for (const { key, value } of database.getRange({})) {
    try {
      read(value, key)
    } catch (error) {
      tell(`${place} ${typeof key === 'number' ? key : nameOf(key)}: ${describe(error)}`)
    }
  }
}

/** A key for people: as text where it is one, else in hex. */
function nameOf(key: Uint8Array): string {
  const bytes = Buffer.from(key)
  return bytes.every((byte) => byte > 32 && byte < 127) ? bytes.toString('latin1') : bytes.toString('hex')
}
