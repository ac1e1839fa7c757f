/**
 * Global setup of the other tests, most of which need no `dist`: the first that does builds it, for the whole run.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import build from './build.js'

const variable = 'BUILT_FOR_TESTS'

export default function setup(project: TestProject): () => void {
  const directory = mkdtempSync(join(tmpdir(), 'understudy-built-'))
  const marker = join(directory, 'built')
  process.env[variable] = marker
  project.onTestsRerun(() => rmSync(marker, { force: true }))
  return () => rmSync(directory, { recursive: true })
}

/** Builds what does not match the sources, unless this run of tests has already. */
export function buildOnce(): void {
  const marker = process.env[variable]
  // Without one, a script or the setup of the project has built before.
  if (marker === undefined || existsSync(marker)) return
  build()
  writeFileSync(marker, '')
}
