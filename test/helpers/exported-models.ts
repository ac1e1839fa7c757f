/**
 * The exports of test/golden/exports as directories of a models directory, without manifests.
 */
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const exportsDir = fileURLToPath(new URL('../golden/exports/', import.meta.url))
const shippedDir = fileURLToPath(new URL('../../models/', import.meta.url))

/** Copies an export; returns its directory. */
export function addExport(
  modelsDir: string,
  name: 'pipeline' | 'trees' | 'encoders',
  version: string = name,
): string {
  const directory = join(modelsDir, version)
  cpSync(join(exportsDir, name), directory, { recursive: true })
  return directory
}

/** Copies an export of test/golden/exports/heads; what the training computed stays outside the package. */
export function addHeads(modelsDir: string, name: string): { directory: string; golden: string } {
  const [source, directory] = [join(exportsDir, 'heads', name), join(modelsDir, name)]
  const golden = join(source, 'from-training.json')
  cpSync(source, directory, { recursive: true, filter: (file) => file !== golden })
  return { directory, golden }
}

/** Copies a shipped package without its manifest. */
export function addWithoutManifest(modelsDir: string, version: string): string {
  const directory = join(modelsDir, version)
  cpSync(join(shippedDir, version), directory, { recursive: true })
  rmSync(join(directory, 'manifest.json'))
  return directory
}
