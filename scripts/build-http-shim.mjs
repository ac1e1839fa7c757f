/**
 * Compiles src/server/native into dist/native/one-request-at-a-time.so, which bin/understudy preloads on Linux so that
 * pipelined requests are served. Never fails: without a compiler the server runs, and only pipelining is missing.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, renameSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const sourceDir = join(root, 'src/server/native')
const library = join(root, 'dist/native/one-request-at-a-time.so')

function changedAt(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

const files = readdirSync(sourceDir).map((name) => join(sourceDir, name))
const sources = files.filter((path) => path.endsWith('.cc'))
if (process.platform === 'linux' && Math.max(...files.map(changedAt)) > changedAt(library)) {
  try {
    mkdirSync(dirname(library), { recursive: true })
    // A running server has the old file mapped: the new one takes its name, not its place.
    const fresh = `${library}.${process.pid}`
    const compiler = process.env.CXX ?? 'g++'
    execFileSync(compiler, ['-std=c++17', '-O2', '-shared', '-fPIC', '-o', fresh, ...sources, '-ldl'], {
      stdio: 'pipe',
    })
    renameSync(fresh, library)
  } catch (error) {
    const reason = String(error.stderr ?? error.message)
      .trim()
      .split('\n', 1)[0]
    console.warn(`pipelined HTTP requests will not be served: the shim was not built (${reason})`)
  }
}
