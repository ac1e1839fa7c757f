/**
 * Command lines for the operator, which the page shows to be copied.
 */
import type { ModelFacts } from '../contract/index.js'
import { localUrl, shellWord, type Settings } from '../settings/index.js'

/**
 * The shell of the operator has different settings from the service: each command names the directories. Both are absolute.
 * `shadows`: the versions that shadow now. `models shadow` replaces them all, so the command for a further one names them too,
 * and the command for one of them names the others.
 */
export function modelCommands(
  { dataDir, modelsDir }: Pick<Settings, 'dataDir' | 'modelsDir'>,
  version: string,
  shadows: readonly string[],
): ModelFacts['commands'] {
  const models = `--models-dir ${shellWord(modelsDir)}`
  const others = shadows.filter((shadow) => shadow !== version)
  const wanted = shadows.includes(version) ? others : [...others, version]
  const both = `${models} --data-dir ${shellWord(dataDir)}`
  return {
    verify: `understudy models verify ${version} ${models}`,
    inspect: `understudy models inspect ${version} ${models}`,
    shadow: `understudy models shadow ${wanted.join(' ') || '--none'} ${both}`,
    activate: `understudy models activate ${version} ${both}`,
  }
}

/** The data directory has the key that the service has generated. */
export function simulateCommand({
  dataDir,
  host,
  port,
  tlsCertFile,
}: Pick<Settings, 'dataDir' | 'host' | 'port' | 'tlsCertFile'>): string {
  const url = localUrl(host, port, tlsCertFile !== undefined)
  return `understudy simulate --hours 1 --data-dir ${shellWord(dataDir)} --url ${url}`
}
