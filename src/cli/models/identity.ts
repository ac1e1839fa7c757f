/**
 * A version is one set of files: what has scored under its name may not change under it, and a server refuses to load
 * what has. The data directory knows.
 */
import { existsSync } from 'node:fs'
import { modelIdentity, readManifest, type LoadedModel } from '../../model/index.js'
import type { Settings } from '../../server/index.js'
import { databasePath, type Store } from '../../store/index.js'
import type { CommandContext } from '../context.js'
import { CommandError } from '../failure.js'
import { withStore } from './stored-cycles.js'

/** Throws a `CommandError` where the version has scored with other files. */
export function checkIdentity(
  store: Store,
  { version, identity }: Pick<LoadedModel, 'version' | 'identity'>,
): void {
  const known = store.models.readIdentity(version)
  if (known !== undefined && known !== identity)
    throw new CommandError(
      `the files of ${version} are not those that have scored under this name; deliver these under another version`,
    )
}

/** The same for packages on disk. Where there is no database yet, or none that can be seen, it says so. */
export async function checkIdentities(
  versions: readonly string[],
  { modelsDir, dataDir }: Settings,
  { remark }: CommandContext,
): Promise<void> {
  const database = databasePath(dataDir)
  if (!existsSync(database)) {
    remark(
      `Not checked: whether ${versions.join(', ')} scored with other files before. There is no ${database}; ` +
        '--data-dir names the directory of the server.\n',
    )
    return
  }
  await withStore(dataDir, async (store) => {
    for (const version of versions) {
      const { manifest } = await readManifest(modelsDir, version)
      checkIdentity(store, { version, identity: modelIdentity(manifest) })
    }
  })
}
