/**
 * `understudy models`: which model packages there are, whether one is sound, and which one serves.
 */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { headNames } from '../contract/index.js'
import {
  activeVersion,
  listModels,
  loadModel,
  readPackage,
  type Manifest,
  type ModelLog,
} from '../model/index.js'
import type { Settings } from '../server/index.js'
import { addSettingFlags, type CommandContext } from './context.js'
import { CommandError, messageOf } from './failure.js'
import { readSettings } from './read-settings.js'
import type { SettingName } from './settings-table.js'
import { formatTable } from './text-table.js'

const sessionSettings: readonly SettingName[] = [
  'modelsDir',
  'executionProviders',
  'intraOpThreads',
  'predictMsMax',
]

type Flags = Record<string, unknown>

export function addModelsCommand(program: Command, context: CommandContext): void {
  const models = program.command('models').description('list, verify and activate model packages')
  addSettingFlags(models.command('list', { isDefault: true }), ['modelsDir'])
    .description(
      'list the packages, * marks the one that serves; checks manifests and hashes, and runs no graph',
    )
    .action((flags: Flags) => list(settingsFor(flags, context), context))
  addSettingFlags(models.command('verify [version]'), sessionSettings)
    .description('check a package, or the active one: files, hashes, a session, a batch')
    .action((version: string | undefined, flags: Flags) =>
      verify(version, settingsFor(flags, context), context),
    )
  addSettingFlags(models.command('activate <version>'), sessionSettings)
    .description('verify a package and let it serve from the next start on')
    .action((version: string, flags: Flags) => activate(version, settingsFor(flags, context), context))
}

function settingsFor(flags: Flags, { env, directory }: CommandContext): Settings {
  return readSettings({ flags, env, directory }).settings
}

async function list({ modelsDir }: Settings, { print, remark }: CommandContext): Promise<void> {
  const versions = await listModels(modelsDir)
  const active = await activeVersion(modelsDir).catch((error: unknown) => {
    remark(`understudy: no model is active: ${messageOf(error)}\n`)
    return null
  })
  if (versions.length === 0) throw new CommandError(`there is no model package in ${modelsDir}`)
  const entries = await Promise.all(versions.map((version) => look(modelsDir, version)))
  const rows = entries.map(({ version, cells }) => [version === active ? '*' : '', version, ...cells])
  const problems = entries.flatMap(({ version, problem }) =>
    problem === null ? [] : [`${version} is not sound: ${problem}\n`],
  )
  print(formatTable(['', 'version', 'kind', 'features', 'heads'], rows))
  if (problems.length > 0) print(`\n${problems.join('')}`)
  remark('\nManifests and hashes were checked; `understudy models verify <version>` runs the graph too.\n')
}

interface ListEntry {
  readonly version: string
  /** Kind, features and heads. */
  readonly cells: readonly string[]
  readonly problem: string | null
}

async function look(modelsDir: string, version: string): Promise<ListEntry> {
  try {
    const { manifest } = await readPackage(modelsDir, version)
    const cells = [manifest.kind, String(manifest.features.length), headsOf(manifest).join(', ')]
    return { version, cells, problem: null }
  } catch (error) {
    return { version, cells: ['not sound', '', ''], problem: messageOf(error) }
  }
}

async function verify(
  version: string | undefined,
  settings: Settings,
  { print, remark }: CommandContext,
): Promise<void> {
  const { modelsDir } = settings
  const chosen = version ?? (await activeVersion(modelsDir))
  const { manifest } = await readPackage(modelsDir, chosen)
  // A model is loaded only after its first batches went through, and what they gave was checked.
  const model = await loadModel({
    modelsDir,
    version: chosen,
    executionProviders: settings.executionProviders,
    timeLimitMs: settings.predictMsMax,
    log: remarksOnly(remark),
    ...(settings.intraOpThreads === undefined ? {} : { intraOpThreads: settings.intraOpThreads }),
  })
  await model.close()
  print(
    `${chosen} is sound: ${manifest.kind}, ${manifest.features.length} features, ` +
      `heads ${headsOf(manifest).join(', ')}, served by ${model.provider}, SHA-256 ${manifest.head.sha256}\n`,
  )
}

async function activate(version: string, settings: Settings, context: CommandContext): Promise<void> {
  await verify(version, settings, context)
  writeActive(settings.modelsDir, version)
  context.print(`${version} is active; a server that runs takes it at its next start\n`)
}

/** Replaces the file in one step: a server that starts at this moment reads the old version or the new one. */
function writeActive(modelsDir: string, version: string): void {
  const file = join(modelsDir, 'ACTIVE')
  const draft = `${file}.${process.pid}.draft`
  try {
    writeDurably(draft, `${version}\n`)
    renameSync(draft, file)
    flushDirectory(modelsDir)
  } catch (cause) {
    rmSync(draft, { force: true })
    throw new CommandError(`cannot write ${file}: ${messageOf(cause)}`, { cause })
  }
}

function writeDurably(file: string, content: string): void {
  const handle = openSync(file, 'w')
  try {
    writeSync(handle, content)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/** Makes a rename survive a power cut. */
function flushDirectory(directory: string): void {
  const handle = openSync(directory, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

function headsOf(manifest: Manifest): string[] {
  return headNames.filter((name) => manifest.head.outputs[name] !== undefined)
}

function remarksOnly(remark: (text: string) => void): ModelLog {
  const line = (_: object, message: string): void => remark(`understudy: ${message}\n`)
  return { info: () => undefined, warn: line, error: line }
}
