/**
 * What the commands on models read of the settings, and how they load a model with them.
 */
import { activeVersion, type LoadOptions, type ModelLog } from '../../model/index.js'
import type { Settings } from '../../server/index.js'
import type { CommandContext } from '../context.js'
import { readSettings } from '../read-settings.js'
import type { SettingName } from '../settings-table.js'
import { shellWord } from '../shell-word.js'

export const modelSettingNames: readonly SettingName[] = ['modelsDir']
export const sessionSettingNames: readonly SettingName[] = [
  'modelsDir',
  'executionProviders',
  'intraOpThreads',
  'predictMsMax',
]

/** Values of flags as commander gives them. */
export type Flags = Readonly<Record<string, unknown>>

export function modelSettings(flags: Flags, { env, directory }: CommandContext): Settings {
  return readSettings({ flags, env, directory }).settings
}

/**
 * Those flags that say where models and data are, for a command that is printed: it must mean the same places. What came
 * from the environment is there for the command too.
 */
export function placeFlags({ config, modelsDir, dataDir }: Flags): string {
  const places = { '--config': config, '--models-dir': modelsDir, '--data-dir': dataDir }
  return Object.entries(places)
    .map(([flag, value]) => (typeof value === 'string' ? ` ${flag} ${shellWord(value)}` : ''))
    .join('')
}

/** The version that is asked for, or the active one. */
export function chosenVersion(version: string | undefined, { modelsDir }: Settings): Promise<string> {
  return version === undefined ? activeVersion(modelsDir) : Promise.resolve(version)
}

export function loadOptions(
  version: string,
  settings: Settings,
  { remark }: CommandContext,
): LoadOptions & { readonly version: string } {
  const { modelsDir, executionProviders, intraOpThreads, predictMsMax } = settings
  return {
    modelsDir,
    version,
    executionProviders,
    timeLimitMs: predictMsMax,
    log: remarksOnly(remark),
    ...(intraOpThreads === undefined ? {} : { intraOpThreads }),
  }
}

/** Warnings and errors as remarks; what goes as it should is in the report. */
function remarksOnly(remark: (text: string) => void): ModelLog {
  const line = (_: object, message: string): void => remark(`understudy: ${message}\n`)
  return { info: () => undefined, warn: line, error: line }
}
