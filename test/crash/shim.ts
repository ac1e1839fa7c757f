/**
 * Compiles a library that a server under test preloads: it sits between the program and the C library.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { projectDir } from '../helpers/project.js'

const compiler = process.env['CXX'] ?? 'g++'

/** True on systems other than Linux, where the library is not preloaded, and without a compiler. */
export const shimImpossible =
  process.platform !== 'linux' || spawnSync(compiler, ['--version']).error !== undefined

/** Compiles `source`, a path within `test`, into `dir` and returns the library's path. */
export function compileShim(source: string, dir: string): string {
  const library = join(dir, 'shim.so')
  const flags = ['-std=c++17', '-O2', '-shared', '-fPIC']
  execFileSync(compiler, [...flags, '-o', library, join(projectDir, 'test', source), '-ldl'])
  return library
}
