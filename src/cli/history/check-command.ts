/**
 * `understudy check`: validates request bodies in files by the rules of the server, and shows what each cycle
 * would change in a data directory. Stores nothing.
 */
import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { Option, type Command } from 'commander'
import {
  gzipBodyBytesMax,
  jsonBodyBytesMax,
  parseInstant,
  ServiceError,
  type PostKey,
} from '../../contract/index.js'
import {
  BodyChecker,
  kindOfBody,
  type BodyEffect,
  type CycleEffect,
  type PoolEffect,
} from '../../history/index.js'
import { gunzipBody } from '../../server/index.js'
import type { Store } from '../../store/index.js'
import { addSettingFlags, type CommandContext } from '../context.js'
import { CommandError, messageLine, UsageError } from '../failure.js'
import { counted } from '../text/format.js'
import { withStore } from '../store/open-store.js'
import { readSettings, type Flags } from '../settings/read-settings.js'
import { inOneLine, plainLines } from '../text/text-table.js'

const kinds = ['cycle', 'outcomes', 'weights'] as const
/** Posts that a line of the report names. */
const namedMax = 5

export function addCheckCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('check <files...>')
    .description(
      'validate request bodies as the server would, and with --data-dir show what each cycle would change; stores nothing',
    )
    .addOption(
      new Option('--kind <kind>', 'what the files contain (default: inferred from the content)').choices(
        kinds,
      ),
    )
    .option('--now <time>', "the service's clock, in RFC 3339 (default: the current time)")
    .option('--json', 'print JSON: one line per file, with the key of every post')
  addSettingFlags(command, ['dataDir', 'clockSkewMs', 'pendingPostsMax']).action(
    (files: string[], flags: CheckFlags) => checkFiles(files, flags, context),
  )
}

interface CheckedFile {
  readonly file: string
  /** Status of the response that the server would send. */
  readonly status: number
  readonly error: ReturnType<ServiceError['toRecord']>['error'] | null
  readonly effect: BodyEffect | null
}

interface CheckFlags extends Flags {
  readonly kind?: (typeof kinds)[number]
  readonly now?: string
  readonly json?: true
}

async function checkFiles(
  files: readonly string[],
  flags: CheckFlags,
  context: CommandContext,
): Promise<void> {
  const { env, directory, print } = context
  const { settings, origins } = readSettings({ flags, env, directory })
  const nowMs = timeOf(flags.now)
  let refused = 0
  const checkAll = async (store: Store | null): Promise<void> => {
    const checker = await BodyChecker.open({
      nowMs,
      clockSkewMs: settings.clockSkewMs,
      pendingPostsMax: settings.pendingPostsMax,
      store,
    })
    for (const file of files) {
      const checked = await checkFile(checker, file, resolve(directory, file), flags.kind)
      if (checked.error !== null) refused++
      print(flags.json === true ? `${JSON.stringify(checked)}\n` : plainLines(textOf(checked)))
    }
  }
  if (origins.get('dataDir') === 'default') await checkAll(null)
  else await withStore(settings.dataDir, checkAll)
  if (refused > 0) throw new CommandError(`the server would refuse ${refused} of ${files.length} files`)
}

function timeOf(text: string | undefined): number {
  if (text === undefined) return Date.now()
  const instant = parseInstant(text)
  if (instant === null) throw new UsageError(`--now must be a date-time with an offset, not ${text}`)
  return instant.ms
}

async function checkFile(
  checker: BodyChecker,
  file: string,
  path: string,
  kind: CheckFlags['kind'],
): Promise<CheckedFile> {
  try {
    const json = await readFile(path)
    const effect = await checker.check(json, kind ?? kindOfBody(json))
    return { file, status: 200, error: null, effect }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    return { file, status: error.status, error: error.toRecord().error, effect: null }
  }
}

/** The JSON of a file, which may be compressed with gzip. Throws `too_large` as the server does. */
async function readFile(path: string): Promise<Uint8Array> {
  let bytes: Buffer
  try {
    if (statSync(path).size > gzipBodyBytesMax) throw tooLarge(gzipBodyBytesMax)
    bytes = readFileSync(path)
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause
    throw new UsageError(`cannot read ${path}: ${messageLine(cause)}`)
  }
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return gunzipBody(bytes)
  if (bytes.length > jsonBodyBytesMax) throw tooLarge(jsonBodyBytesMax)
  return bytes
}

function tooLarge(bytesMax: number): ServiceError {
  return new ServiceError({ code: 'large_body', bytes_max: bytesMax })
}

function textOf({ file, status, error, effect }: CheckedFile): string {
  if (error !== null) {
    const fields = (error.fields ?? []).map(({ path, problem }) => `  ${path || '(body)'}: ${problem}\n`)
    return `${file}: ${status} ${error.code}: ${error.message}\n${fields.join('')}`
  }
  switch (effect?.kind) {
    case 'outcomes':
      return `${file}: ${effect.outcomes} valid outcomes\n`
    case 'weights': {
      const { version, first_cycle_time: first } = effect
      return `${file}: valid weights ${version}${first === null ? '' : `, in force from ${first}`}\n`
    }
    default:
      return effect === null ? '' : cycleText(file, effect)
  }
}

function cycleText(file: string, effect: CycleEffect): string {
  const { candidates, engagement, candidate_scores: snapshots, removals, change } = effect
  const rows = [
    counted(candidates, 'candidate'),
    counted(engagement, 'reading'),
    counted(snapshots, 'snapshot'),
    counted(removals, 'removal'),
  ].join(', ')
  const head = `${file}: cycle ${effect.cycle_id} is valid: ${rows}\n`
  if (effect.effect === 'repeat') return `${head}  a repeat: the server returns its stored response\n`
  return change === null ? head : head + changeText(change)
}

function changeText(change: PoolEffect): string {
  const { late, pending_before: before, pending_after: after, weights_version: weights } = change
  const lines = [
    `a new${late ? ', late' : ''} cycle: ${before} pending posts before it, ${after} after it` +
      (weights === null ? '' : `; weights ${weights}`),
    groupLine('entering', change.entering),
    ...groupLines('leaving', change.leaving, ({ reason, tier }) =>
      tier === null ? reason : `${reason} (${tier})`,
    ),
    groupLine('scored', change.scored),
    groupLine('waiting, no reading in this call', change.waiting),
    ...groupLines('not scored', change.not_scored, ({ reason }) => reason),
    ...change.warnings.map((warning) => `warning: ${warning}`),
  ]
  return lines
    .filter((line) => line !== null)
    .map((line) => `  ${inOneLine(line)}\n`)
    .join('')
}

/** Null for no posts. */
function groupLine(what: string, posts: readonly PostKey[]): string | null {
  if (posts.length === 0) return null
  const names = posts.slice(0, namedMax).map(({ gall_id, post_no }) => `${gall_id}/${post_no}`)
  return `${posts.length} ${what}: ${names.join(', ')}${posts.length > namedMax ? ', …' : ''}`
}

/** One line for each reason. */
function groupLines<Post extends PostKey>(
  what: string,
  posts: readonly Post[],
  reasonOf: (post: Post) => string,
): (string | null)[] {
  return [...Map.groupBy(posts, reasonOf)].map(([reason, group]) => groupLine(`${what}, ${reason}`, group))
}
