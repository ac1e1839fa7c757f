/**
 * `understudy verify`: reads a whole data directory, with its server running or not, and prints the problems. A child
 * process reads the file, because damaged or missing pages can end the reading process by a signal.
 */
import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { text } from 'node:stream/consumers'
import { Option, type Command } from 'commander'
import { loadCodec } from '../codec/index.js'
import { verifyCycles } from '../history/index.js'
import { normaliseImage } from '../images/index.js'
import {
  databasePath,
  inspectRecords,
  openSnapshot,
  removeUnfinishedLockFiles,
  type RecordCounts,
  type Store,
} from '../store/index.js'
import { addSettingFlags, type CommandContext } from './context.js'
import { keepFilesPrivate } from './data-directory.js'
import { CommandError, messageOf } from './failure.js'
import { readSettings } from './read-settings.js'

export interface VerifyReport {
  readonly file: string
  readonly sound: boolean
  readonly counts: RecordCounts | null
  readonly lastCycleId: string | null
  readonly bytes: number
  readonly picturesDecoded: number
  readonly seconds: number
  /** The first 100, one line each. */
  readonly problems: readonly string[]
  readonly problemCount: number
}

const problemsMax = 100
/** Images that are decoded without `--all-images`, evenly spread. */
const picturesMax = 200
const pictureEdgeMax = 1024

export interface VerifyOptions {
  readonly allImages: boolean
  /** Requires the file to have the length in its header, as backups do. */
  readonly whole: boolean
}

export function addVerifyCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('verify')
    .description('read a whole data directory, with its server running or not, and print the problems')
    .option('--json', 'print JSON')
    .option('--all-images', `decode every stored image, not only ${picturesMax}`)
    .addOption(new Option('--file <path>', 'a database file instead of a data directory').hideHelp())
    .addOption(new Option('--whole').hideHelp())
    .addOption(new Option('--in-this-process').hideHelp())
  addSettingFlags(command, ['dataDir']).action((flags: Record<string, unknown>) => verify(flags, context))
}

async function verify(flags: Record<string, unknown>, context: CommandContext): Promise<void> {
  const { env, directory, print } = context
  keepFilesPrivate()
  const file =
    typeof flags['file'] === 'string'
      ? flags['file']
      : databasePath(readSettings({ flags, env, directory }).settings.dataDir)
  const options = { allImages: flags['allImages'] === true, whole: flags['whole'] === true }
  if (flags['inThisProcess'] === true) {
    print(JSON.stringify(await verifyFile(file, options)))
    return
  }
  const report = await verifyInChild(file, options)
  print(flags['json'] === true ? `${JSON.stringify(report, null, 2)}\n` : reportText(report))
  if (!report.sound) throw new CommandError(`${file}: ${report.problemCount} problems`)
}

/**
 * Verifies a database file in a child process. Rejects with a `CommandError` when this user may not read the file. Damage
 * is part of the report.
 */
export async function verifyInChild(file: string, options: VerifyOptions): Promise<VerifyReport> {
  checkPermission(file)
  const flags = [
    ...['verify', '--in-this-process', '--file', file],
    ...(options.allImages ? ['--all-images'] : []),
    ...(options.whole ? ['--whole'] : []),
  ]
  const [script = ''] = process.argv.slice(1)
  const child = spawn(process.execPath, [...process.execArgv, script, ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise<string | number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve(signal ?? code))
  })
  const [output, remarks, end] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  if (typeof end === 'string') await removeUnfinishedLockFiles(file)
  if (end === 0) return JSON.parse(output) as VerifyReport
  const problem =
    typeof end === 'string'
      ? `the pages of the file are damaged or missing: reading it ended the process by ${end}`
      : remarks.trim().replace(/^understudy: /, '')
  return { ...nothingRead(file), problems: [problem], problemCount: 1 }
}

/** A file that this user may not read is not necessarily damaged. */
function checkPermission(file: string): void {
  try {
    accessSync(file, constants.R_OK)
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
    if (code !== 'EACCES' && code !== 'EPERM') return
    const message = `${file} was not verified: permission denied; run this as the owner of the data directory or as root`
    throw new CommandError(message, { cause })
  }
}

/** Verifies a database file. Rejects when it cannot be opened. */
async function verifyFile(file: string, { allImages, whole }: VerifyOptions): Promise<VerifyReport> {
  const startedAt = performance.now()
  const snapshot = await openSnapshot(file, { whole })
  const { store, bytes } = snapshot
  const problems: string[] = []
  let problemCount = 0
  const report = (problem: string): void => {
    if (++problemCount <= problemsMax) problems.push(problem)
  }
  try {
    const counts = inspectRecords(snapshot, report)
    await verifyCycles(store, { codec: loadCodec('auto').codec, report })
    const picturesDecoded = await verifyPictures(store, allImages ? Infinity : picturesMax, report)
    const seconds = Math.round(performance.now() - startedAt) / 1000
    const read = { counts, lastCycleId: lastCycleId(store), bytes, picturesDecoded, seconds }
    return { file, sound: problemCount === 0, ...read, problems, problemCount }
  } finally {
    await store.close()
  }
}

/** Null where there is none, and where it cannot be read, which `inspectRecords` reports. */
function lastCycleId(store: Store): string | null {
  try {
    return store.lastCycle()?.cycleId ?? null
  } catch {
    return null
  }
}

/** Decodes up to `countMax` images, evenly spread, and returns their number. */
async function verifyPictures(
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
      if (Math.max(width, height) > pictureEdgeMax)
        throw new Error(`it is ${width} x ${height}, larger than any stored image`)
      decoded++
    } catch (error) {
      report(`images, ${key.gallId}/${key.postNo}/${key.position}: the content: ${messageOf(error)}`)
    }
  }
  return decoded
}

function nothingRead(file: string): VerifyReport {
  const read = { counts: null, lastCycleId: null, bytes: 0, picturesDecoded: 0, seconds: 0 }
  return { file, sound: false, ...read, problems: [], problemCount: 0 }
}

function reportText(report: VerifyReport): string {
  const { counts, problems, problemCount } = report
  const lines = [...problems]
  if (problemCount > problems.length) lines.push(`and ${problemCount - problems.length} more`)
  if (counts !== null)
    lines.push(
      `${report.file}: ${contentsText(counts, report.lastCycleId, report.bytes)}; ` +
        `${report.picturesDecoded} images decoded, ${report.seconds} s`,
    )
  if (report.sound) lines.push('no problems found')
  return lines.map((line) => `${line}\n`).join('')
}

/** The contents of a database in words. */
export function contentsText(counts: RecordCounts, lastCycle: string | null, bytes: number): string {
  return (
    `${counts.cycles} cycles${lastCycle === null ? '' : `, the last ${lastCycle}`}, ${counts.images} images, ` +
    `${counts.outcomes} outcomes, ${counts.weights} weights, ${(bytes / 1024 / 1024).toFixed(1)} MiB`
  )
}
