/**
 * A walk of simdjson over a body (`walk.h`), compiled once against the sources in the npm package. Without a compiler, the
 * service's native decoder takes its place, which is not a floor; and the note states that.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type * as Codec from '../../src/codec/index.js'
import { builtModule, projectDir } from '../project.js'
import { median } from '../statistics.js'

export interface WalkFigure {
  readonly ms: number
  readonly note: string
}

const roundCount = 41

/** Median time to visit every value of a body. `scratchDir` takes the body as a file. */
export async function measureWalk(body: Buffer, scratchDir: string): Promise<WalkFigure> {
  const walk = compileWalk()
  if (typeof walk === 'string') {
    const file = join(scratchDir, 'body.json')
    writeFileSync(file, body)
    const output = execFileSync(walk, [file, String(roundCount)], { encoding: 'utf8' })
    const { ms, values } = JSON.parse(output) as { ms: number; values: number }
    const expected = countValues(JSON.parse(body.toString())) - 1
    if (values !== expected) throw new Error(`the walk visited ${values} values of ${expected}`)
    return { ms, note: 'simdjson On-Demand' }
  }
  const { codecName, decodeCycle } = await builtModule<typeof Codec>('codec/index.js')
  const rounds: number[] = []
  for (let round = 0; round < roundCount; round++) {
    const startedAt = performance.now()
    decodeCycle(body)
    rounds.push(performance.now() - startedAt)
  }
  return { ms: median(rounds), note: `${codecName} decoder, no floor: ${walk.message}` }
}

/** Counts the value itself and all values inside it. */
function countValues(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((count: number, inner) => count + countValues(inner), 1)
}

let program: string | Error | undefined

/** Path of the program, or the reason why it cannot be built. */
function compileWalk(): string | Error {
  program ??= compile('walk.cc', 'walk', [])
  return program
}

/** Loads the walk into this process (`walk_addon.cc`). Throws if it cannot be built. */
export function loadWalk(): (body: Buffer, byteCount: number) => number {
  const include = join(dirname(dirname(process.execPath)), 'include', 'node')
  // Node contains another simdjson, whose symbols must not replace these.
  const addon = compile('walk_addon.cc', 'walk.node', [
    ...['-shared', '-fPIC', '-fvisibility=hidden', '-Wl,-Bsymbolic', `-I${include}`],
  ])
  if (typeof addon !== 'string') throw addon
  return (createRequire(import.meta.url)(addon) as { walk: (body: Buffer, byteCount: number) => number }).walk
}

/** Builds a source of this folder with simdjson, if it has changed. Returns the path of the result, or the error. */
function compile(sourceName: string, name: string, flags: readonly string[]): string | Error {
  try {
    const manifest = createRequire(import.meta.url).resolve('simdjson/package.json')
    const simdjsonDir = join(dirname(manifest), 'simdjson', 'src')
    const floorDir = join(projectDir, 'bench', 'floor')
    const built = join(projectDir, 'build', 'bench', name)
    const builtAtMs = statSync(built, { throwIfNoEntry: false })?.mtimeMs ?? 0
    const sources = [join(floorDir, sourceName), join(floorDir, 'walk.h')]
    if (sources.every((source) => builtAtMs > statSync(source).mtimeMs)) return built
    mkdirSync(dirname(built), { recursive: true })
    // Concurrent runs build different files; the last rename wins.
    const fresh = `${built}.${process.pid}`
    execFileSync(
      process.env.CXX ?? 'g++',
      // -march=native: otherwise On-Demand uses its generic implementation.
      [
        ...['-std=c++17', '-O3', '-march=native', ...flags, `-I${simdjsonDir}`, '-o', fresh],
        ...[join(floorDir, sourceName), join(simdjsonDir, 'simdjson.cpp')],
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    )
    renameSync(fresh, built)
    return built
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n', 1)[0]! : String(error)
    return new Error(`${sourceName} was not built (${reason})`)
  }
}
