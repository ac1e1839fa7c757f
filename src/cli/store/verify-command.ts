/**
 * `understudy verify`: checks a whole data directory and prints the problems. The server may be running.
 */
import { InvalidArgumentError, type Command } from 'commander'
import { codeOf, sizeText, withRelease } from '../../base/index.js'
import { verifyCycles } from '../../history/index.js'
import { normaliseImage } from '../../images/index.js'
import {
  databasePath,
  inspectRecords,
  openSnapshot,
  StoreError,
  type ChainLink,
  type RecordCounts,
  type Store,
  type StoreSnapshot,
} from '../../store/index.js'
import { addSettingFlags, printResult, type CommandContext } from '../context.js'
import { keepFilesPrivate } from '../settings/data-directory.js'
import { CommandError, messageLine } from '../failure.js'
import { counted } from '../text/format.js'
import { settingsOf, type Flags } from '../settings/read-settings.js'

/** As `--json` prints it. */
export interface VerifyReport {
  readonly file: string
  readonly sound: boolean
  /** By database. Null, as the next one, if the file cannot be opened. */
  readonly counts: RecordCounts | null
  readonly last_cycle_id: string | null
  readonly bytes: number
  readonly images_decoded: number
  /** The link of the chain with the hash of `VerifyOptions`, in words; null if there is none. */
  readonly hash_of: string | null
  /** The last hash of the chain; null in an empty directory. */
  readonly head: string | null
  /** Cycles whose request and response have expired: of these two, only the hashes are left. */
  readonly hashes_only: number
  readonly seconds: number
  /** The first 100, one line each. */
  readonly problems: readonly string[]
  readonly problem_count: number
}

const problemsMax = 100
/** Images that are decoded without `--all-images`, evenly spread. */
const imagesMax = 200
const imageEdgeMax = 1024

export interface VerifyOptions {
  readonly allImages: boolean
  /** Requires the file to have the length in its header, as backups do. */
  readonly whole: boolean
  /** A hash of the chain, noted earlier, that the chain must have; null: none is required. */
  readonly hash: string | null
}

export function addVerifyCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('verify')
    .description('check a whole data directory and print the problems; the server may be running')
    .option('--json', 'print JSON')
    .option('--all-images', `decode every stored image, not only ${imagesMax}`)
    .option(
      '--hash <hex>',
      'a hash of the chain that was noted earlier, from the log for example: require that the chain has it',
      hashArgument,
    )
  addSettingFlags(command, ['dataDir']).action((flags: Flags) => verify(flags, context))
}

async function verify(flags: Flags, context: CommandContext): Promise<void> {
  keepFilesPrivate()
  const file = databasePath(settingsOf(flags, context).dataDir)
  const hash = (flags['hash'] as string | undefined) ?? null
  const report = await verifyFile(file, { allImages: flags['allImages'] === true, whole: false, hash })
  printResult(context, flags, report, () => reportText(report))
  if (!report.sound) throw new CommandError(`${file}: ${counted(report.problem_count, 'problem')}`)
}

/** Parses the hash of a cycle. */
function hashArgument(value: string): string {
  if (!/^[0-9a-f]{64}$/i.test(value)) throw new InvalidArgumentError('It must have 64 hex digits.')
  return value.toLowerCase()
}

/**
 * Verifies a database file; damage is part of the report. Rejects with a `CommandError` when this user may not read the
 * file.
 */
export async function verifyFile(
  file: string,
  { allImages, whole, hash }: VerifyOptions,
): Promise<VerifyReport> {
  const startedAt = performance.now()
  const problems: string[] = []
  let problemCount = 0
  const report = (problem: string): void => {
    if (++problemCount <= problemsMax) problems.push(problem)
  }
  const snapshot = await open(file, whole, report)
  let found: Omit<VerifyReport, 'file' | 'sound' | 'bytes' | 'seconds' | 'problems' | 'problem_count'> = {
    counts: null,
    last_cycle_id: null,
    images_decoded: 0,
    hash_of: null,
    head: null,
    hashes_only: 0,
  }
  if (snapshot !== null) {
    const { store } = snapshot
    const verify = async (): Promise<typeof found> => {
      const counts = inspectRecords(snapshot, report)
      await verifyCycles(store, { report })
      const images_decoded = await verifyImages(store, allImages ? Infinity : imagesMax, report)
      const { hash_of, head } = chainOf(store, hash)
      if (hash !== null && hash_of === null)
        report(
          `the chain does not have the hash ${hash}: cycles were changed or removed since, or it is of another directory`,
        )
      const hashes_only = counts.cycles - counts.responses
      return { counts, last_cycle_id: lastCycleId(store), images_decoded, hash_of, head, hashes_only }
    }
    found = await withRelease(verify, () => store.close())
  }
  const seconds = Math.round(performance.now() - startedAt) / 1000
  const bytes = snapshot?.bytes ?? 0
  return { file, sound: problemCount === 0, ...found, bytes, seconds, problems, problem_count: problemCount }
}

/** Null if the file cannot be opened, which is reported. A file that this user may not read is not damaged. */
async function open(
  file: string,
  whole: boolean,
  report: (problem: string) => void,
): Promise<StoreSnapshot | null> {
  try {
    return await openSnapshot(file, { whole })
  } catch (cause) {
    if (cause instanceof StoreError) {
      report(messageLine(cause))
      return null
    }
    if (!['EACCES', 'EPERM'].includes(codeOf(cause))) throw cause
    const message = `${file} was not verified: permission denied; run this as the owner of the data directory or as root`
    throw new CommandError(message, { cause })
  }
}

/** Null if there is none, and if it cannot be read, which `inspectRecords` reports. */
function lastCycleId(store: Store): string | null {
  try {
    return store.lastCycle()?.cycleId ?? null
  } catch {
    return null
  }
}

/** Nulls if there is none, and if the records cannot be read, which `inspectRecords` reports. */
function chainOf(store: Store, hash: string | null): Pick<VerifyReport, 'hash_of' | 'head'> {
  let hash_of: string | null = null
  let head: string | null = null
  try {
    const start = store.chainStart()
    if (start.position > 0 && start.hash === hash)
      hash_of = `the cycle at position ${start.position}, whose record has expired`
    for (const link of store.chainLinks()) {
      if (link.hash === hash) hash_of = linkText(store, link)
      head = link.hash
    }
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
  }
  return { hash_of, head }
}

function linkText(store: Store, { position, expiry }: ChainLink): string {
  const cycle = [...store.recordedCycles()].find((each) => each.position === position)
  const name = `cycle ${cycle?.cycleId ?? `at position ${position}`}`
  return expiry === null
    ? name
    : `the expiry of ${expiry.ended} up to position ${expiry.through}, after ${name}`
}

/** What the verification has shown of the chain, and what it has not. */
function proofText({ hash_of: noted }: VerifyReport): string {
  return noted === null
    ? 'the chain agrees with itself, which does not prove its age: pass a hash that was noted earlier with --hash'
    : 'everything that the chain covers, up to the hash that was given, is as it was when that was noted'
}

/** Decodes up to `countMax` images, evenly spread, and returns their number. */
async function verifyImages(
  store: Store,
  countMax: number,
  report: (problem: string) => void,
): Promise<number> {
  let keys
  try {
    keys = [...store.imageKeys()]
  } catch {
    return 0 // `inspectRecords` reports it.
  }
  const count = Math.min(keys.length, countMax)
  let decoded = 0
  for (let taken = 0; taken < count; taken++) {
    const key = keys[Math.floor((taken * keys.length) / count)]
    if (key === undefined) break
    try {
      const stored = store.findImage(key)
      if (stored === undefined) continue
      const { width, height } = await normaliseImage(stored.normalised)
      if (Math.max(width, height) > imageEdgeMax)
        throw new Error(`it is ${width} x ${height}, larger than any stored image`)
      decoded++
    } catch (error) {
      report(`images, ${key.gallId}/${key.postNo}/${key.position}: the content: ${messageLine(error)}`)
    }
  }
  return decoded
}

function reportText(report: VerifyReport): string {
  const { counts, problems, problem_count: problemCount } = report
  const lines = [...problems]
  if (problemCount > problems.length) lines.push(`and ${problemCount - problems.length} more`)
  if (counts !== null)
    lines.push(
      `${report.file}: ${contentsText(counts, report.last_cycle_id, report.bytes)}; ` +
        `${report.images_decoded} images decoded, ${report.seconds} s`,
    )
  if (report.hashes_only > 0)
    lines.push(
      `${counted(report.hashes_only, 'cycle')}: request and response have expired, and only their hashes are left`,
    )
  if (report.head !== null) lines.push(`head of the chain: ${report.head}`)
  if (report.hash_of !== null) lines.push(`the hash is that of ${report.hash_of}`)
  if (report.sound) lines.push(`no problems found${report.head === null ? '' : `; ${proofText(report)}`}`)
  return lines.map((line) => `${line}\n`).join('')
}

/** A summary of the contents of a database. */
export function contentsText(counts: RecordCounts, lastCycle: string | null, bytes: number): string {
  return (
    `${counted(counts.cycles, 'cycle')}${lastCycle === null ? '' : `, the last ${lastCycle}`}, ${counted(counts.images, 'image')}, ` +
    `${counted(counts.outcomes, 'outcome')}, ${counted(counts.weights, 'setting')} of weights, ${sizeText(bytes)}`
  )
}
