/**
 * `/api/models`: every package of the models directory and every version in use, with state, failure, provenance, and the
 * commands that change them. The admin listener itself changes nothing.
 */
import { featureNames, headsOf, listModels, readManifest } from '../../model/index.js'
import type { AdminSources } from '../sources.js'

export async function models({ models: lifecycle, cycles, settings }: AdminSources): Promise<object> {
  const { modelsDir } = settings()
  const packages = await listModels(modelsDir).catch((): string[] => [])
  const inUse = lifecycle.versions
  const { failures } = lifecycle.status
  const versions = [...new Set([...inUse.map(({ version }) => version), ...packages])]
  return {
    models_dir: modelsDir,
    shadow_cycles_skipped: cycles.models.shadows.skippedCount,
    models: await Promise.all(
      versions.map(async (version) => {
        const failure = failures.find((one) => one.version === version)
        return {
          version,
          uses: inUse.filter((one) => one.version === version),
          failure:
            failure === undefined
              ? null
              : { problem: failure.problem, at: new Date(failure.atMs).toISOString() },
          ...(await manifestFacts(modelsDir, version)),
          commands: commandsFor(version),
        }
      }),
    ),
  }
}

async function manifestFacts(modelsDir: string, version: string): Promise<object> {
  try {
    const { manifest } = await readManifest(modelsDir, version)
    const { kind, provenance = null, note = null, text, image } = manifest
    return {
      ...{ problem: null, kind, provenance, note },
      heads: headsOf(manifest),
      features: featureNames(manifest),
      reads: [...(text === undefined ? [] : ['text']), ...(image === undefined ? [] : ['images'])],
    }
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) }
  }
}

function commandsFor(version: string): Readonly<Record<string, string>> {
  return {
    verify: `understudy models verify ${version}`,
    inspect: `understudy models inspect ${version}`,
    shadow: `understudy models shadow ${version}`,
    activate: `understudy models activate ${version}`,
  }
}
