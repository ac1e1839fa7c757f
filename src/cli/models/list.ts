/**
 * `understudy models list`: one line per package. Reads only manifests and file sizes; does not hash or run anything.
 */
import { sizeText } from '../../base/index.js'
import type { FailedVersion, VersionRole, VersionState } from '../../contract/index.js'
import {
  activeVersion,
  featureNames,
  headsOf,
  listModels,
  placementText,
  readPackage,
  readStatus,
  shadowVersions,
  type LifecycleStatus,
  type ModelPackage,
} from '../../model/index.js'
import { printResult, type CommandContext } from '../context.js'
import { CommandError, messageLine } from '../failure.js'
import { settingsOf, type Flags } from '../settings/read-settings.js'
import { formatTable } from '../text/text-table.js'
import { noteOther, otherModelsDir } from './common.js'

/** The JSON form, without the facts of the package if its manifest is not valid. */
interface Entry extends Partial<ReturnType<typeof packageFacts>> {
  readonly version: string
  readonly role: VersionRole | null
  /** null: the version is not in use, or no server runs. */
  readonly state: VersionState | null
  /** The last failure since the server started. */
  readonly failure: Omit<FailedVersion, 'version' | 'role'> | null
  /** How the files differ from those that the server has loaded. Absent: they do not, or it has not loaded them. */
  readonly changed?: string
  /** Where the server runs the graphs that their first provider does not run as a whole. Absent: there are none. */
  readonly runs_on?: readonly string[]
  /** The version that failed its cycles, if this one serves in its place. */
  readonly serves_instead_of?: string
  readonly serves_until?: string
  readonly problem: string | null
}

/** When a version that serves instead of another one ends to, by what that one has failed. */
const untilWhen = { cycles: 'until a version is activated', load: 'until that one can be loaded' } as const

export async function list(flags: Flags, context: CommandContext): Promise<void> {
  const { printMessage, columns } = context
  const settings = settingsOf(flags, context)
  const { modelsDir, dataDir } = settings
  const versions = await listModels(modelsDir)
  const orDefault = <T>(what: string, reading: Promise<T>, fallback: T): Promise<T> =>
    reading.catch((error: unknown) => {
      printMessage(`understudy: ${what}: ${messageLine(error)}\n`)
      return fallback
    })
  const active = await orDefault('no model is active', activeVersion(modelsDir), null)
  const shadows = await orDefault('there are no shadow models', shadowVersions(modelsDir), [])
  const status = await orDefault('the state of the server is unknown', readStatus(dataDir), null)
  noteOther(await otherModelsDir(settings), context)
  for (const [file, named] of [
    ['ACTIVE', active === null ? [] : [active]] as const,
    ['SHADOW', shadows] as const,
  ]) {
    const absent = named.filter((version) => !versions.includes(version))
    if (absent.length > 0)
      printMessage(`understudy: ${file} names ${absent.join(', ')}, but ${modelsDir} has no such package\n`)
  }
  const roleOf = (version: string): Entry['role'] =>
    version === active ? 'active' : shadows.includes(version) ? 'shadow' : null
  const entries = await Promise.all(
    versions.map((version) => entryOf(modelsDir, version, roleOf(version), status)),
  )
  printResult(context, flags, entries, () => {
    if (entries.length === 0) throw new CommandError(`there is no model package in ${modelsDir}`)
    return listText(entries, columns())
  })
}

function listText(entries: readonly Entry[], cellsMax: number | undefined): string {
  const head = ['', 'version', 'state', 'kind', 'features', 'reads', 'size', 'heads']
  const table = formatTable(head, entries.map(cells), { cellsMax, column: head.length - 1 })
  const problems = entries.flatMap((entry) => {
    const { version, problem, failure, changed, serves_instead_of: failed, runs_on: runsOn = [] } = entry
    return [
      ...runsOn.map((sentence) => `${version}/${sentence}\n`),
      ...(problem === null ? [] : [`${version} is not valid: ${problem}\n`]),
      ...(failure === null
        ? []
        : [
            `${version} failed ${failure.kind === 'cycles' ? 'its cycles' : 'to load'} at ${failure.at}: ${failure.problem}\n`,
          ]),
      ...(failed === undefined ? [] : [`${version} serves instead of ${failed}, ${entry.serves_until}\n`]),
      ...(changed === undefined
        ? []
        : [
            `warning: ${version} has changed on disk since the server loaded it: ${changed}; the server keeps what it has loaded, and a restart refuses the change\n`,
          ]),
    ]
  })
  return problems.length === 0 ? table : `${table}\n${problems.join('')}`
}

async function entryOf(
  modelsDir: string,
  version: string,
  role: Entry['role'],
  status: LifecycleStatus | null,
): Promise<Entry> {
  // A version that serves and was then named as a shadow has both roles for a while.
  const state = status?.versions.find((one) => one.version === version)?.state ?? null
  const last = status?.failures.find((one) => one.version === version)
  const failure =
    last === undefined
      ? null
      : ({ at: new Date(last.atMs).toISOString(), problem: last.problem, kind: last.kind ?? 'load' } as const)
  const changed = status?.versions.find((one) => one.version === version && one.changed)?.changed
  const fallback = status?.fallback
  const placements = status?.versions.find((one) => one.version === version)?.placements ?? []
  const runsOn = placements.map(placementText)
  const entry = {
    version,
    role,
    state,
    failure,
    ...(changed === undefined ? {} : { changed }),
    ...(runsOn.length === 0 ? {} : { runs_on: runsOn }),
    ...(fallback?.version === version
      ? { serves_instead_of: fallback.failed, serves_until: untilWhen[fallback.cause] }
      : {}),
  }
  try {
    return { ...entry, ...packageFacts(await readPackage(modelsDir, version)), problem: null }
  } catch (error) {
    return { ...entry, problem: messageLine(error) }
  }
}

function packageFacts({ manifest, files }: ModelPackage) {
  const { kind, provenance, text, image } = manifest
  return {
    kind,
    provenance: provenance ?? null,
    feature_count: featureNames(manifest).length,
    reads: [...(text === undefined ? [] : ['text']), ...(image === undefined ? [] : ['images'])],
    heads: headsOf(manifest),
    /** Total size of all files. */
    bytes: files.reduce((sum, file) => sum + file.bytes, 0),
  }
}

function cells({ version, role, state, kind, feature_count, reads, bytes, heads }: Entry): string[] {
  return [
    ...[role ?? '', version, state ?? '', kind ?? 'not valid', String(feature_count ?? '')],
    ...[reads?.join(', ') ?? '', bytes === undefined ? '' : sizeText(bytes), heads?.join(', ') ?? ''],
  ]
}
