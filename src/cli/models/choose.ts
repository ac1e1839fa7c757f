/**
 * `understudy models activate` and `shadow`: which versions score. Each is one file in the directory of models, written
 * only when all that it names is sound.
 */
import { closeSync, fchmodSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { activeVersion, shadowCountMax, shadowVersions } from '../../model/index.js'
import type { Settings } from '../../server/index.js'
import type { CommandContext } from '../context.js'
import { CommandError, messageOf, UsageError } from '../failure.js'
import { checkIdentities } from './identity.js'
import { placeFlags, type Flags } from './settings.js'
import { mustBeSound } from './verify.js'

export async function activate(
  version: string,
  settings: Settings,
  flags: Flags,
  context: CommandContext,
): Promise<void> {
  const { modelsDir } = settings
  await mustBeSound(version, settings, context)
  await checkIdentities([version], settings, context)
  const before = await activeVersion(modelsDir).catch(() => null)
  replaceFile(join(modelsDir, 'ACTIVE'), `${version}\n`)
  const back =
    before === null || before === version
      ? ''
      : ` The way back: \`understudy models activate ${before}${placeFlags(flags)}\`.`
  context.print(
    `${version} is active. A server that runs loads it now and switches between two cycles; /v1/health names the ` +
      `model that serves.${back}\n`,
  )
}

export async function shadow(
  versions: readonly string[],
  settings: Settings,
  { none }: Flags,
  context: CommandContext,
): Promise<void> {
  const { modelsDir } = settings
  const file = join(modelsDir, 'SHADOW')
  if (none === true && versions.length > 0) throw new UsageError('--none and versions exclude each other')
  if (none === true) {
    replaceFile(file, '')
    context.print('No model is a shadow any more; a server that runs lets them go at once.\n')
    return
  }
  if (versions.length === 0) {
    const names = await shadowVersions(modelsDir)
    context.print(`${names.length === 0 ? 'No model is a shadow.' : names.join('\n')}\n`)
    return
  }
  await checkShadows(versions, modelsDir)
  for (const version of versions) await mustBeSound(version, settings, context)
  await checkIdentities(versions, settings, context)
  replaceFile(file, versions.map((version) => `${version}\n`).join(''))
  const are = versions.length === 1 ? 'scores' : 'score'
  context.print(
    `${versions.join(', ')} ${are} every cycle after its answer, in a server that runs as soon as loaded.\n`,
  )
}

async function checkShadows(versions: readonly string[], modelsDir: string): Promise<void> {
  if (new Set(versions).size !== versions.length) throw new UsageError('a version is named twice')
  if (versions.length > shadowCountMax)
    throw new UsageError(`there may be ${shadowCountMax} shadows, not ${versions.length}`)
  const active = await activeVersion(modelsDir).catch(() => null)
  if (active !== null && versions.includes(active))
    throw new UsageError(`${active} is the active model; a shadow is another one`)
}

/** Replaces the file in one step: whoever reads it at this moment reads the old text or the new one. */
function replaceFile(file: string, content: string): void {
  const draft = `${file}.${process.pid}.draft`
  try {
    writeDurably(draft, content)
    renameSync(draft, file)
    flushDirectory(dirname(file))
  } catch (cause) {
    rmSync(draft, { force: true })
    throw new CommandError(`cannot write ${file}: ${messageOf(cause)}`, { cause })
  }
}

function writeDurably(file: string, content: string): void {
  const handle = openSync(file, 'w')
  try {
    // A server may run as another user, whatever the umask of this one.
    fchmodSync(handle, 0o644)
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
