/**
 * A version is one set of files: what a server has loaded under its name may not change under it, and the server refuses
 * to load what has. The data directory knows.
 */
import { stat } from 'node:fs/promises'
import { modelIdentity, readManifest, type LoadedModel } from '../../model/index.js'
import type { Settings } from '../../server/index.js'
import { databasePath, type Store } from '../../store/index.js'
import type { CommandContext } from '../context.js'
import { CommandError, messageOf } from '../failure.js'
import { withStore } from './stored-cycles.js'

/** Throws a `CommandError` where a server has loaded the version with other files. */
export function checkIdentity(
  store: Store,
  { version, identity }: Pick<LoadedModel, 'version' | 'identity'>,
): void {
  refuseOthers(version, identity, store.models.readIdentity(version))
}

/**
 * The same for packages on disk. Where there is no database yet, or none that can be read, it says so and lets them pass:
 * the way back to an older version must not depend on sound data.
 */
export async function checkIdentities(
  versions: readonly string[],
  settings: Settings,
  { remark }: CommandContext,
): Promise<void> {
  const found = await knownIdentities(versions, settings.dataDir)
  if (typeof found === 'string') {
    remark(`Not checked: whether a server has loaded ${versions.join(', ')} with other files. ${found}\n`)
    return
  }
  for (const [version, known] of found) {
    const { manifest } = await readManifest(settings.modelsDir, version)
    refuseOthers(version, modelIdentity(manifest), known)
  }
}

function refuseOthers(version: string, identity: string, known: string | undefined): void {
  if (known !== undefined && known !== identity)
    throw new CommandError(
      `the files of ${version} are not those that a server has loaded under this name; deliver these under another ` +
        'version',
    )
}

/** What the data say of each version, or in a sentence why they do not. */
async function knownIdentities(
  versions: readonly string[],
  dataDir: string,
): Promise<(readonly [version: string, known: string | undefined])[] | string> {
  try {
    if (!(await hasDatabase(dataDir)))
      return `There is no database in ${dataDir}; --data-dir names the directory of the server.`
    return await withStore(dataDir, (store) =>
      Promise.resolve(versions.map((version) => [version, store.models.readIdentity(version)] as const)),
    )
  } catch (error) {
    return `The data in ${dataDir} cannot be read: ${messageOf(error)}`
  }
}

/** An empty file is none: `serve` takes it for new. Rejects where that cannot be seen. */
async function hasDatabase(dataDir: string): Promise<boolean> {
  try {
    return (await stat(databasePath(dataDir))).size > 0
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  }
}
