/**
 * `understudy models activate` and `shadow`: write the files ACTIVE and SHADOW of the models directory, once every named
 * package passes verification. A version whose files differ from those that a server has loaded is refused.
 */
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { minuteMs } from '../../base/index.js'
import {
  activeVersion,
  modelIdentity,
  readManifest,
  readStatus,
  shadowCountMax,
  shadowVersions,
} from '../../model/index.js'
import { checkIdentity } from '../../history/index.js'
import type { Settings } from '../../settings/index.js'
import type { Store } from '../../store/index.js'
import type { CommandContext } from '../context.js'
import { replaceFile } from '../settings/data-directory.js'
import { CommandError, messageLine, UsageError } from '../failure.js'
import { settingsOf, type Flags } from '../settings/read-settings.js'
import { loadOptions, noteOther, otherModelsDir } from './common.js'
import { withStore } from '../store/open-store.js'
import { requireVerified } from './verify.js'

const pollMs = 200
/** Longer than a server takes to load a version or to fail. */
const waitMsMax = 30 * minuteMs
/** The server may run as another user. */
const readableByAll = 0o644

export async function activate(version: string, flags: Flags, context: CommandContext): Promise<void> {
  const settings = settingsOf(flags, context)
  const { modelsDir } = settings
  await requireVerified(loadOptions(version, settings, context), context)
  await checkIdentities([version], settings, context)
  const before = await activeVersion(modelsDir).catch(() => null)
  const sinceMs = Date.now()
  replaceFile(join(modelsDir, 'ACTIVE'), `${version}\n`, readableByAll)
  const previous = before === null || before === version ? '' : ` The previous version was ${before}.`
  context.print(
    `${version} is active. A running server loads it and switches to it between two cycles; /v1/health names the ` +
      `version in use.${previous}\n`,
  )
  const other = await otherModelsDir(settings)
  if (flags['wait'] !== true) {
    noteOther(other, context)
    return
  }
  if (other !== null) throw new CommandError(other)
  await serves(version, settings, sinceMs)
  context.print(`${version} is now serving.\n`)
}

/** Resolves when the server serves with `version`. Throws a `CommandError` with the reason if it does not. */
async function serves(version: string, { dataDir, modelsDir }: Settings, sinceMs: number): Promise<void> {
  while (Date.now() < sinceMs + waitMsMax) {
    const status = await readStatus(dataDir).catch((cause: unknown) => {
      throw new CommandError(`the state of the server cannot be read: ${messageLine(cause)}`, { cause })
    })
    if (status === null)
      throw new CommandError(`${version} is active, and no server uses the data directory ${dataDir}`)
    const isOfVersion = (one: { version: string; role: string }): boolean =>
      one.version === version && one.role === 'active'
    if (status.versions.some((one) => isOfVersion(one) && one.state === 'serving')) return
    const failure = status.failures.find((one) => isOfVersion(one) && one.atMs >= sinceMs)
    if (failure !== undefined) throw new CommandError(`${version} does not serve: ${failure.problem}`)
    const active = await activeVersion(modelsDir).catch(() => null)
    if (active !== version)
      throw new CommandError(`${version} does not serve: ACTIVE was changed to another version`)
    await setTimeout(pollMs)
  }
  throw new CommandError(`${version} did not start serving within ${waitMsMax / minuteMs} minutes`)
}

export async function shadow(
  versions: readonly string[],
  flags: Flags,
  context: CommandContext,
): Promise<void> {
  const settings = settingsOf(flags, context)
  const { modelsDir } = settings
  const file = join(modelsDir, 'SHADOW')
  if (flags['none'] === true) {
    if (versions.length > 0) throw new UsageError('--none cannot be combined with versions')
    replaceFile(file, '', readableByAll)
    context.print('Removed all shadow models; a running server unloads them.\n')
    noteOther(await otherModelsDir(settings), context)
    return
  }
  if (versions.length === 0) {
    const names = await shadowVersions(modelsDir)
    context.print(`${names.length === 0 ? 'There are no shadow models.' : names.join('\n')}\n`)
    return
  }
  await checkShadows(versions, modelsDir)
  for (const version of versions) await requireVerified(loadOptions(version, settings, context), context)
  await checkIdentities(versions, settings, context)
  replaceFile(file, versions.map((version) => `${version}\n`).join(''), readableByAll)
  context.print(
    `Shadow models: ${versions.join(', ')}. A running server loads them; they score each cycle after its response.\n`,
  )
  noteOther(await otherModelsDir(settings), context)
}

async function checkShadows(versions: readonly string[], modelsDir: string): Promise<void> {
  if (new Set(versions).size !== versions.length) throw new UsageError('a version is listed twice')
  if (versions.length > shadowCountMax)
    throw new UsageError(`at most ${shadowCountMax} shadow models are possible, not ${versions.length}`)
  const active = await activeVersion(modelsDir).catch(() => null)
  if (active !== null && versions.includes(active))
    throw new UsageError(`${active} is the active model and cannot be a shadow model`)
}

/** Checks packages on disk. Without a readable database it prints a note and passes them. */
async function checkIdentities(
  versions: readonly string[],
  { dataDir, modelsDir }: Settings,
  { printMessage }: CommandContext,
): Promise<void> {
  const packages = await Promise.all(versions.map((version) => readManifest(modelsDir, version)))
  const readAll = (store: Store) => versions.map((version) => store.models.readIdentity(version))
  const known = await withStore(dataDir, readAll).catch((error: unknown) => {
    printMessage(
      `Not checked: whether a server has loaded other files as ${versions.join(', ')} (${messageLine(error)}); --data-dir ` +
        'names the directory of the server\n',
    )
    return []
  })
  for (const [index, { manifest }] of packages.entries())
    checkIdentity({ version: manifest.model_version, identity: modelIdentity(manifest) }, known[index])
}
