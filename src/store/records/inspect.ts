/**
 * Reads every record of a snapshot: is it valid by itself, and do the records that belong together agree? What
 * the cycles mean is not checked.
 */
import { firstLineOf } from '../../base/index.js'
import type { CycleHeader, Expiry } from '../store.js'
import { chainStart, endOf, expiryHash, linkHash, recordHash, scorerHashes } from './chain.js'
import { opaqueNames, firstPosition, lastPosition } from './cycles.js'
import { databaseTable, kinds, type Databases, type Kind, type RecordDatabase } from './databases.js'
import { encoderKeyBytes, imageKeyOf, imageNumbersOf, imageUseKeyOf, imageUseOf, nameHash } from './keys.js'
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
  const start = chainStart(databases)
  let before: { readonly position: number; readonly hash: string | null } = start
  const ended: Record<Expiry['ended'], number> = { responses: 0, records: 0 }
  const last = lastPosition(databases)
  const inspectScorer = scorerInspection(databases, report)
  each(databases.cycles, 'cycles, position', report, (record, position) => {
    if (position !== before.position + 1)
      report(`cycles: the positions have a gap between ${before.position} and ${position}`)
    positions.set(position, '')
    const header = records.readCycle(record)
    const { cycleId } = header
    positions.set(position, cycleId)
    const { hash: hashBefore } = before
    const entry = chainEntryAt(databases, position)
    before = { position, hash: entry ? endOf(entry) : null }
    if (entry === undefined) report(`cycle ${cycleId} (position ${position}): its hashes are missing`)
    if (!entry) return
    for (const { ended: kind, through } of entry.expiries) ended[kind] = through
    inspectScorer(header, entry)
    if (!inspectHash(databases, position, record, entry, hashBefore))
      report(
        `cycle ${cycleId} (position ${position}): its hash does not follow from its records and the cycle before: ` +
          'one of the two was changed, removed or exchanged',
      )
    if (!inspectExpiries(entry))
      report(`chain, position ${position}: the hash of an expiry does not follow from the one before`)
  })
  each(databases.chain, 'chain, position', report, (record, position) => {
    if (position === 0) records.readChainStart(record)
    else records.readChainEntry(record)
    if (position > 0 && !positions.has(position))
      report(`chain, position ${position}: there is no such cycle`)
  })
  const first = firstPosition(databases)
  inspectEnd('records', start.position, ended.records, report)
  inspectEnd('responses', first - 1, ended.responses, report)
  const oldest = positions.keys().next().value ?? 1
  inspectIds(databases, positions, last, report)
  for (const name of ['requests', 'responses', 'cycleRecords'] as const) {
    const seen = new Set<number>()
    each(databases[name], `${name}, position`, report, (record, position) => {
      seen.add(position)
      // Before the first retained cycle there are records that a pending post still needs.
      if (position >= oldest && !positions.has(position))
        report(`${name}, position ${position}: there is no such cycle`)
      if (name === 'requests') records.readStoredRequest(record)
      else records.readBytes(record, opaqueNames[name])
    })
    for (const position of positions.keys())
      if (!seen.has(position) && (position >= first || name === 'cycleRecords'))
        report(`${name}, position ${position}: the record is missing`)
  }
  each(databases.pool, 'pool, position', report, (record, position) => {
    if (position > last) report(`pool, position ${position}: there is no such cycle`)
    records.readBytes(record, opaqueNames.pool)
  })
}

/** What is gone is what the chain says has expired. */
function inspectEnd(what: Expiry['ended'], through: number, expired: number, report: Report): void {
  if (through !== expired)
    report(`chain: ${what} are missing up to position ${through}, and have expired up to position ${expired}`)
}

/**
 * The hash of a cycle follows from the one before, and from its records as far as these have not expired. True for records
 * that cannot be read: others report them.
 */
function inspectHash(
  { responses, cycleRecords }: Databases,
  position: number,
  labels: Uint8Array,
  entry: records.ChainEntry,
  before: string | null,
): boolean {
  const [response, record] = [responses.getBinary(position), cycleRecords.getBinary(position)]
  if (record === undefined || before === null) return true
  try {
    const recordSha256 = recordHash(labels, records.readBytes(record, opaqueNames.cycleRecords))
    const responseSha256 = response === undefined ? entry.responseSha256 : records.readResponseHash(response)
    return linkHash(before, { ...entry, responseSha256, recordSha256 }) === entry.hash
  } catch {
    return true
  }
}

function inspectExpiries({ hash, expiries }: records.ChainEntry): boolean {
  let before = hash
  return expiries.every((expiry) => {
    const isSound = expiryHash(before, expiry) === expiry.hash
    before = expiry.hash
    return isSound
  })
}

/** Compares the weights and the model that scored a cycle with those of these versions now. Reports each version once. */
function scorerInspection(
  databases: Databases,
  report: Report,
): (header: CycleHeader, entry: records.ChainEntry) => void {
  const reported = new Set<string>()
  const reportOnce = (problem: string): void => {
    if (!reported.has(problem)) report(problem)
    reported.add(problem)
  }
  const known = new Map<string, ReturnType<typeof scorerHashes>>()
  return (header, entry) => {
    const { weightsVersion, modelVersion } = header
    const key = JSON.stringify([weightsVersion, modelVersion])
    const { weightsSha256, modelSha256 } = known.get(key) ?? scorerHashes(databases, header)
    known.set(key, { weightsSha256, modelSha256 })
    if (entry.weightsSha256 !== null && weightsSha256 !== entry.weightsSha256)
      reportOnce(`weights ${weightsVersion}: they are not those with which cycles were scored`)
    if (entry.modelSha256 !== null && modelSha256 !== entry.modelSha256)
      reportOnce(`model version ${modelVersion}: its identity is not that of the model that scored cycles`)
  }
}

/** Undefined: there is none. Null: it is damaged, which is reported with the records of the chain. */
function chainEntryAt({ chain }: Databases, position: number): records.ChainEntry | null | undefined {
  const record = chain.getBinary(position)
  try {
    return record && records.readChainEntry(record)
  } catch {
    return null
  }
}

/** Each position has one id, also one whose cycle has expired. */
function inspectIds(
  databases: Databases,
  positions: ReadonlyMap<number, string>,
  last: number,
  report: Report,
): void {
  const found = new Uint8Array(last + 1)
  each(databases.cycleIds, 'cycle ids,', report, (record, key) => {
    const cycleId = Buffer.from(key).toString('latin1')
    const position = records.readPosition(record)
    const named = positions.get(position)
    // An empty name is that of an unreadable header, which has been reported.
    if (position > last || (named !== undefined && named !== '' && named !== cycleId))
      report(`cycle ids, ${cycleId}: position ${position} holds ${named ?? 'no cycle'}`)
    else if (found[position]! > 0) report(`cycle ids, ${cycleId}: position ${position} has another id, too`)
    if (position <= last) found[position] = 1
  })
  for (let position = 1; position <= last; position++)
    if (found[position] === 0) {
      const cycleId = positions.get(position) ?? 'expired'
      report(`cycle ids: position ${position} (${cycleId}) cannot be found by its id`)
    }
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

function inspectHistory({ outcomes, weights }: Databases, report: Report): void {
  let last = 0
  each(weights, 'weights, number', report, (record, number) => {
    if (number !== ++last) report(`weights, number ${number}: number ${last} is missing before it`)
    last = number
    records.readWeights(record)
  })
  each(outcomes, 'outcomes,', report, (record, key) => {
    const { placementId, record: json } = records.readStoredOutcome(record)
    if (Buffer.compare(nameHash(placementId), key) !== 0)
      report(`outcomes, ${placementId}: is stored under the key of another placement`)
    JSON.parse(Buffer.from(json).toString())
  })
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
