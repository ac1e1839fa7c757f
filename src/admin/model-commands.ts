/**
 * Command lines for the model packages, which the page shows to be copied.
 */
import type { ModelFacts } from '../contract/index.js'
import { shellWord, type Settings } from '../settings/index.js'

/**
 * The shell of the operator has different settings from the service: each command names the directories. Both are absolute.
 */
export function modelCommands(
  { dataDir, modelsDir }: Pick<Settings, 'dataDir' | 'modelsDir'>,
  version: string,
): ModelFacts['commands'] {
  const models = `--models-dir ${shellWord(modelsDir)}`
  const both = `${models} --data-dir ${shellWord(dataDir)}`
  return {
    verify: `understudy models verify ${version} ${models}`,
    inspect: `understudy models inspect ${version} ${models}`,
    shadow: `understudy models shadow ${version} ${both}`,
    activate: `understudy models activate ${version} ${both}`,
  }
}
