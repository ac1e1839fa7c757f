/**
 * What the `models` commands share: the chosen version, options for loading it, and whether the server sees the same models.
 */
import { stat } from 'node:fs/promises'
import { loadOptionsOf } from '../../history/index.js'
import { activeVersion, readStatus, type LoadOptions } from '../../model/index.js'
import type { Settings } from '../../settings/index.js'
import type { CommandContext } from '../context.js'
import { messageLog } from '../store/open-store.js'

/** The given version, or the active one. */
export function chosenVersion(version: string | undefined, { modelsDir }: Settings): Promise<string> {
  return version === undefined ? activeVersion(modelsDir) : Promise.resolve(version)
}

/** Options for loading a version. Warnings and errors go to stderr; the report of the command shows the rest. */
export function loadOptions(
  version: string,
  settings: Settings,
  context: Pick<CommandContext, 'printMessage'>,
): LoadOptions {
  return loadOptionsOf(settings, version, messageLog(context))
}

/**
 * A sentence that the server of the data directory has another models directory than this command; null if it has the same one, or
 * if that is unknown.
 */
export async function otherModelsDir({ dataDir, modelsDir }: Settings): Promise<string | null> {
  const status = await readStatus(dataDir).catch(() => null)
  if (status === null) return null
  // A path of another container, or of another user, cannot be found here.
  const [theirs, ours] = await Promise.all(
    [status.modelsDir, modelsDir].map((directory) => stat(directory).catch(() => null)),
  )
  if (!theirs || !ours) return null
  if (theirs.dev === ours.dev && theirs.ino === ours.ino) return null
  return `the server of ${dataDir} has its models in ${status.modelsDir}, and does not see ${modelsDir}`
}

export function noteOther(
  other: string | null,
  { printMessage }: Pick<CommandContext, 'printMessage'>,
): void {
  if (other !== null) printMessage(`understudy: ${other}\n`)
}
