/**
 * Is this revision faster than another one? Both servers receive the same cycles in one run, in the order A B B A, so
 * that changes in the load of the machine affect both.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { uncountedCycleCount } from './cycles.js'
import { withGenerator, type CycleGenerator } from './cycle-generator.js'
import { projectDir } from './project.js'
import { withServer, type ServerUnderTest } from './server-under-test.js'
import { median, summarize } from './statistics.js'
import type { WorldShape } from '../test/harness/world.js'

const outputTextMax = 2000
const quiet = { UNDERSTUDY_LOG_LEVEL: 'warn' }

export interface Comparison {
  readonly scenario: string
  readonly nameA: string
  readonly nameB: string
  readonly pairCount: number
  readonly medianMsA: number
  readonly medianMsB: number
  /** Median over the pairs of the time of B divided by the time of A: above 1, A is faster. */
  readonly ratio: number
  readonly ratioP10: number
  readonly ratioP90: number
  /** CPU time of B divided by that of A. */
  readonly cpuRatio: number | null
}

/** A checkout that can serve, and a function that removes it. */
export interface BuiltCheckout {
  readonly dir: string
  readonly name: string
  readonly remove: () => void
}

/** Builds a revision in a new worktree. If `revision` is the directory of a built checkout, uses it unchanged. */
export function buildRevision(revision: string): BuiltCheckout {
  if (existsSync(join(revision, 'bin', 'understudy'))) {
    return { dir: resolve(revision), name: revision, remove: () => undefined }
  }
  const commit = run('git', ['rev-parse', '--short', '--verify', `${revision}^{commit}`], projectDir).trim()
  const scratchDir = mkdtempSync(join(tmpdir(), 'understudy-compare-'))
  const dir = join(scratchDir, 'worktree')
  const remove = (): void => {
    run('git', ['worktree', 'remove', '--force', dir], projectDir)
    rmSync(scratchDir, { recursive: true, force: true })
  }
  run('git', ['worktree', 'add', '--detach', dir, commit], projectDir)
  try {
    // npm ci runs `prepare`, which builds.
    run('npm', ['ci', '--no-audit', '--no-fund'], dir)
  } catch (error) {
    remove()
    throw error
  }
  return { dir, name: commit, remove }
}

export interface CompareOptions {
  readonly scenario: string
  readonly shape: WorldShape
  readonly cycleCount: number
}

/** A is this working tree, B the other checkout. */
export async function compareCycles(options: CompareOptions, other: BuiltCheckout): Promise<Comparison> {
  return withServer({ env: quiet }, (serverA) =>
    withServer({ checkoutDir: other.dir, env: quiet }, (serverB) =>
      withGenerator(options.shape, (generator) =>
        alternate(options, other.name, [serverA, serverB], generator),
      ),
    ),
  )
}

async function alternate(
  { scenario, cycleCount }: CompareOptions,
  nameB: string,
  servers: readonly [ServerUnderTest, ServerUnderTest],
  generator: CycleGenerator,
): Promise<Comparison> {
  const connections = servers.map((server) => generator.connectTo(server))
  const samplesMs: [number[], number[]] = [[], []]
  let cpuBeforeMs = servers.map((server) => server.usage().cpuMs)
  for (let i = 0; i < uncountedCycleCount + cycleCount; i++) {
    const cycle = await generator.next()
    if (i === uncountedCycleCount) cpuBeforeMs = servers.map((server) => server.usage().cpuMs)
    for (const side of i % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const { tookMs } = await generator.post(connections[side]!, cycle)
      if (i >= uncountedCycleCount) samplesMs[side].push(tookMs)
    }
  }
  // NaN if the system does not report CPU time.
  const [cpuMsA = NaN, cpuMsB = NaN] = servers.map(
    (server, side) => (server.usage().cpuMs ?? NaN) - (cpuBeforeMs[side] ?? NaN),
  )
  const [a, b] = samplesMs
  const ratios = b.map((tookMs, i) => tookMs / a[i]!).sort((x, y) => x - y)
  const at = (part: number): number => ratios[Math.round(part * (ratios.length - 1))]!
  return {
    scenario,
    nameA: 'this tree',
    nameB,
    pairCount: ratios.length,
    medianMsA: summarize(a).p50,
    medianMsB: summarize(b).p50,
    ratio: median(ratios),
    ratioP10: at(0.1),
    ratioP90: at(0.9),
    cpuRatio: cpuMsA > 0 && cpuMsB > 0 ? cpuMsB / cpuMsA : null,
  }
}

/** Runs a program and returns its stdout. If it fails, throws an error with the end of its output. */
function run(program: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 64 * 1024 * 1024,
    // Otherwise its postinstall script downloads the CUDA provider.
    env: { ...process.env, ONNXRUNTIME_NODE_INSTALL: 'skip' },
  })
  if (error !== undefined) throw error
  if (status === 0) return stdout
  // Compilers write errors to stdout, npm to stderr.
  const output = `${stdout.slice(-outputTextMax)}\n${stderr.slice(-outputTextMax)}`.trim()
  throw new Error(`${[program, ...args].join(' ')} failed:\n${output}`)
}
