/** The package of the client, as the build makes it, in the project of another developer. */
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { projectDir } from './project.js'

export const clientPackageDir = join(projectDir, 'dist/understudy-client')

export function linkClient(project: string): void {
  const packages = join(project, 'node_modules')
  mkdirSync(packages, { recursive: true })
  symlinkSync(clientPackageDir, join(packages, 'understudy-client'))
}
