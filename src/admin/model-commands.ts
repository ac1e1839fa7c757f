/**
 * Command lines for the model packages, which the page shows to be copied.
 */
import { shellWord, type Settings } from '../settings/index.js'

export interface ModelCommands {
  readonly verify: string
  readonly inspect: string
  readonly shadow: string
  readonly activate: string
}

/**
 * The shell of the operator has other settings than the service: each command names the directories. Both are absolute.
 */
export function modelCommands(
  { dataDir, modelsDir }: Pick<Settings, 'dataDir' | 'modelsDir'>,
  version: string,
): ModelCommands {
  const models = `--models-dir ${shellWord(modelsDir)}`
  const both = `${models} --data-dir ${shellWord(dataDir)}`
  return {
    verify: `understudy models verify ${version} ${models}`,
    inspect: `understudy models inspect ${version} ${models}`,
    shadow: `understudy models shadow ${version} ${both}`,
    activate: `understudy models activate ${version} ${both}`,
  }
}
