/**
 * Reads every record of a snapshot: is it valid by itself, and do the records that belong together agree? What
 * the cycles mean is not checked.
 */
import { hash } from 'node:crypto'
import { firstLineOf } from '../../base/index.js'
import type { CycleHashes } from '../store.js'
import { chainStart, linkHash, recordHash } from './chain.js'
import { columnNames, firstPosition, lastPosition } from './cycles.js'
import { databaseTable, kinds, type Databases, type Kind, type RecordDatabase } from './databases.js'
import {
  encoderKeyBytes,
  imageKeyOf,
  imageNumbersOf,
  imageUseKeyOf,
  imageUseOf,
  nameHash,
  weightsTimeKey,
} from './keys.js'
import * as records from './payloads.js'

/** How many records of each kind there are, by the name of the database. */
export type RecordCounts = Record<(typeof databaseTable)[Kind]['name'], number>

/** Largest dimension of an embedding; no encoder has more. */
const embeddingWidthMax = 16_384

type Report = (problem: string) => void

/** Reads all records; calls `report` with one line for each that is wrong. Blocks while it reads. */
export function inspectRecords(
  { databases }: { readonly databases: Databases },
  report: Report,
): RecordCounts {
  inspectCycles(databases, report)
  inspectImages(databases, report)
  inspectModels(databases, report)
  inspectHistory(databases, report)
  return countRecords(databases)
}

export function countRecords(databases: Databases): RecordCounts {
  const counts = kinds.map((kind) => {
    const keys = (databases[kind].getKeys({}) as Iterable<unknown>)[Symbol.iterator]()
    let count = 0
    while (keys.next().done !== true) count++
    return [databaseTable[kind].name, count]
  })
  return Object.fromEntries(counts) as RecordCounts
}

// ---- cycles

function inspectCycles(databases: Databases, report: Report): void {
  const positions = new Map<number, string>()
  let before: { readonly position: number; readonly hash: string | null } = chainStart(databases)
  const last = lastPosition(databases)
  each(databases.cycles, 'cycles, position', report, (record, position) => {
    if (position !== before.position + 1)
      report(`cycles: the positions have a gap between ${before.position} and ${position}`)
    positions.set(position, '')
    const { cycleId } = records.readCycle(record)
    positions.set(position, cycleId)
    const { hash: hashBefore } = before
    const hashes = hashesAt(databases, position)
    before = { position, hash: hashes?.hash ?? null }
    // Those of the last one may not have been stored yet.
    if (hashes === undefined && position !== last)
      report(`cycle ${cycleId} (position ${position}): its hashes are missing`)
    else if (hashes && !inspectHash(databases, position, record, hashes, hashBefore))
      report(
        `cycle ${cycleId} (position ${position}): its hash does not follow from its records and the cycle before: ` +
          'one of the two was changed, removed or exchanged',
      )
  })
  each(databases.chain, 'chain, position', report, (record, position) => {
    if (position === 0) records.readChainStart(record)
    else records.readHashes(record)
    if (position > 0 && !positions.has(position))
      report(`chain, position ${position}: there is no such cycle`)
  })
  const oldest = positions.keys().next().value ?? 1
  inspectIds(databases, positions, oldest, report)
  const first = firstPosition(databases)
  for (const name of ['requests', 'responses', 'cycleColumns'] as const) {
    const seen = new Set<number>()
    each(databases[name], `${name}, position`, report, (record, position) => {
      seen.add(position)
      // Before the first retained cycle there are records that a pending post still needs.
      if (position >= oldest && !positions.has(position))
        report(`${name}, position ${position}: there is no such cycle`)
      if (name === 'requests') records.readStoredRequest(record)
      else records.readBytes(record, columnNames[name])
    })
    for (const position of positions.keys())
      if (!seen.has(position) && (position >= first || name === 'cycleColumns'))
        report(`${name}, position ${position}: the record is missing`)
  }
  each(databases.pool, 'pool, position', report, (record, position) => {
    if (position > last) report(`pool, position ${position}: there is no such cycle`)
    records.readBytes(record, columnNames.pool)
  })
}

/**
 * The hash of a cycle follows from the one before, and from its records as far as these have not expired. True for records
 * that cannot be read: others report them.
 */
function inspectHash(
  { responses, cycleColumns }: Databases,
  position: number,
  labels: Uint8Array,
  hashes: CycleHashes,
  before: string | null,
): boolean {
  const [response, columns] = [responses.getBinary(position), cycleColumns.getBinary(position)]
  if (columns === undefined || before === null) return true
  try {
    const record = recordHash(labels, records.readBytes(columns, columnNames.cycleColumns))
    const responseSha256 =
      response === undefined
        ? hashes.responseSha256
        : hash('sha256', records.readBytes(response, columnNames.responses))
    return linkHash(before, { ...hashes, responseSha256, record }) === hashes.hash
  } catch {
    return true
  }
}

/** Undefined: there are none. Null: they are damaged, which is reported with the records of the chain. */
function hashesAt({ chain }: Databases, position: number): CycleHashes | null | undefined {
  const record = chain.getBinary(position)
  try {
    return record && records.readHashes(record)
  } catch {
    return null
  }
}

/** Each cycle has its id, and each id its cycle, unless that has expired. */
function inspectIds(
  databases: Databases,
  positions: ReadonlyMap<number, string>,
  first: number,
  report: Report,
): void {
  const found = new Set<number>()
  each(databases.cycleIds, 'cycle ids,', report, (record, key) => {
    const cycleId = Buffer.from(key).toString('latin1')
    const position = records.readPosition(record)
    found.add(position)
    const named = positions.get(position)
    // An empty name is that of an unreadable header, which has been reported.
    if (named === undefined ? position >= first : named !== '' && named !== cycleId)
      report(`cycle ids, ${cycleId}: position ${position} holds ${named ?? 'no cycle'}`)
  })
  for (const [position, cycleId] of positions)
    if (!found.has(position)) report(`cycle ids: position ${position} (${cycleId}) cannot be found by its id`)
}

// ---- images, models, weights, outcomes

function inspectImages({ images, imageBytes, imageUses }: Databases, report: Report): void {
  each(images, 'images,', report, (record, key) => {
    const { gallId, sha256 } = records.readImageIdentity(record)
    const numbers = imageNumbersOf(key)
    const place = `images, ${gallId}/${numbers.postNo}/${numbers.position}`
    if (Buffer.compare(imageKeyOf({ gallId, ...numbers }), key) !== 0)
      report(`${place}: is stored under the key of another gallery`)
    if (!imageBytes.doesExist(key)) report(`${place}: its bytes are missing`)
    if (!imageUses.doesExist(imageUseKeyOf(sha256, key))) report(`${place}: cannot be found by its hash`)
  })
  each(imageBytes, 'image bytes,', report, (record, key) => {
    records.readBytes(record, 'image')
    if (!images.doesExist(key)) report(`image bytes, ${nameOf(key)}: there is no image of this key`)
  })
  each(imageUses, 'image uses,', report, (record, key) => {
    records.readBytes(record, 'image use')
    const { sha256, imageKey } = imageUseOf(key)
    const image = images.getBinary(imageKey)
    if (image === undefined || Buffer.compare(records.readImageIdentity(image).sha256, sha256) !== 0)
      report(`image uses, ${nameOf(key)}: there is no image with these bytes`)
  })
}

function inspectModels({ embeddings, shadowScores, modelVersions }: Databases, report: Report): void {
  const widths = new Map<string, number>()
  each(embeddings, 'embeddings,', report, (record, key) => {
    const vector = records.readVector(record)
    const encoder = nameOf(key.subarray(0, encoderKeyBytes))
    const width = widths.get(encoder) ?? vector.length
    widths.set(encoder, width)
    if (vector.length === 0 || vector.length > embeddingWidthMax || vector.length !== width)
      report(`embeddings, ${nameOf(key)}: ${vector.length} numbers, others of the encoder have ${width}`)
    else if (!vector.every(Number.isFinite)) report(`embeddings, ${nameOf(key)}: a number is not finite`)
  })
  each(shadowScores, 'shadow scores,', report, (record) => records.readShadowScores(record))
  each(modelVersions, 'model versions,', report, (record) => records.readText(record, 'identity of a model'))
}

function inspectHistory({ outcomes, ...databases }: Databases, report: Report): void {
  inspectWeights(databases, report)
  each(outcomes, 'outcomes,', report, (record, key) => {
    const { placementId, record: json } = records.readStoredOutcome(record)
    if (Buffer.compare(nameHash(placementId), key) !== 0)
      report(`outcomes, ${placementId}: is stored under the key of another placement`)
    JSON.parse(Buffer.from(json).toString())
  })
}

type WeightsDatabases = Pick<Databases, 'weights' | 'weightVersions' | 'weightTimes'>

/** The indexes are those that the entries give. */
function inspectWeights({ weights, weightVersions, weightTimes }: WeightsDatabases, report: Report): void {
  let last = 0
  const applying: { readonly number: number; readonly firstCycleMs: number }[] = []
  each(weights, 'weights, number', report, (record, number) => {
    if (number !== ++last) report(`weights, number ${number}: number ${last} is missing before it`)
    last = number
    const { version, firstCycleMs } = records.readWeights(record)
    while ((applying.at(-1)?.firstCycleMs ?? -Infinity) >= firstCycleMs) applying.pop()
    applying.push({ number, firstCycleMs })
    if (!weightVersions.doesExist(nameHash(version)))
      report(`weights, number ${number}: the version cannot be found by its name`)
  })
  each(weightVersions, 'weight versions,', report, (record, key) => {
    const number = records.readPosition(record)
    const entry = weights.getBinary(number)
    if (entry === undefined || Buffer.compare(nameHash(records.readWeights(entry).version), key) !== 0)
      report(`weight versions, ${nameOf(key)}: number ${number} has another version`)
  })
  each(weightTimes, 'weight times,', report, (record, key) => {
    const expected = applying.pop()
    const isExpected =
      records.readPosition(record) === expected?.number &&
      Buffer.compare(weightsTimeKey(expected.firstCycleMs), key) === 0
    if (!isExpected) report(`weight times, ${nameOf(key)}: the entry does not begin there`)
  })
  if (applying.length > 0) report(`weight times: ${applying.length} entries are missing`)
}

// ---- the pieces

/** Reads each record of a database; what a reading throws is reported with its place. */
function each<Key extends number | Uint8Array>(
  database: RecordDatabase<Key>,
  place: string,
  report: Report,
  read: (record: Uint8Array, key: Key) => unknown,
): void {
  for (const { key, value } of database.getRange({})) {
    try {
      read(value, key)
    } catch (error) {
      report(`${place} ${typeof key === 'number' ? key : nameOf(key)}: ${firstLineOf(error)}`)
    }
  }
}

/** A key for people: as a string if it is one, else in hex. */
function nameOf(key: Uint8Array): string {
  const bytes = Buffer.from(key)
  return bytes.every((byte) => byte > 32 && byte < 127) ? bytes.toString('latin1') : bytes.toString('hex')
}
