/**
 * Where the nodes of a graph run. A provider may leave nodes to the CPU, such as the shape arithmetic of a text encoder. A profile of
 * ONNX Runtime names the provider of each node and its time, so the session's first runs are profiled: see graph-session.ts.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from '../../contract/index.js'

/** Part of a run above which a graph runs mostly on the CPU. */
const cpuTimeShareMax = 0.5

export interface Placement {
  /** File of the graph. */
  readonly file: string
  /** The provider that serves it. */
  readonly provider: string
  /** Providers before it in the list, each with the reason why it does not serve. */
  readonly refused: readonly string[]
  /** null: the provider is the CPU. */
  readonly nodes: NodePlacement | null
}

export interface NodePlacement {
  /** Nodes that a run executes, after ONNX Runtime's optimisations. */
  readonly count: number
  /** Those on the CPU, by operator. */
  readonly onCpu: Readonly<Record<string, number>>
  /** Time that these take of a whole run, 0 to 1. */
  readonly cpuTimeShare: number
}

export const mostlyOnCpuModes = ['refuse', 'warn'] as const
/** What happens to a graph that a provider leaves mostly to the CPU: the next provider is tried, or it serves with a warning. */
export type MostlyOnCpu = (typeof mostlyOnCpuModes)[number]

/** The file of one session's profile. */
export class Profile {
  readonly #directory: string

  constructor() {
    // In the working directory of a model process, which is removed with it, even if it is killed.
    this.#directory = mkdtempSync(join(process.cwd(), 'profile-'))
  }

  /** ONNX Runtime completes it to the name of a file. */
  get filePrefix(): string {
    return join(this.#directory, 'run')
  }

  /** Reads the profile once it has ended. */
  read(): NodePlacement {
    const [name = ''] = readdirSync(this.#directory)
    return placementOf(JSON.parse(readFileSync(join(this.#directory, name), 'utf8')) as ProfileEvent[])
  }

  remove(): void {
    rmSync(this.#directory, { recursive: true, force: true })
  }
}

/** The members that are read here; times are in microseconds. */
export interface ProfileEvent {
  readonly cat: string
  readonly name: string
  readonly ts: number
  readonly dur: number
  readonly args?: { readonly provider?: string; readonly op_name?: string }
}

/** The placement in the run with the median part of the CPU: the first run also prepares the device, and is left out if there are others. */
export function placementOf(events: readonly ProfileEvent[]): NodePlacement {
  const runs = events.filter(({ cat, name }) => cat === 'Session' && name === 'model_run')
  const counted = runs.length > 1 ? runs.slice(1) : runs
  const placements = counted
    .map((run) => placementOfRun(run, events))
    .sort((a, b) => a.cpuTimeShare - b.cpuTimeShare)
  const median = placements[Math.floor(placements.length / 2)]
  assert(median !== undefined, 'the profile of a session contains its runs')
  return median
}

function placementOfRun(run: ProfileEvent, events: readonly ProfileEvent[]): NodePlacement {
  const nodes = events.filter(
    ({ cat, name, ts, args }) =>
      cat === 'Node' &&
      name.endsWith('_kernel_time') &&
      args?.provider !== undefined &&
      ts >= run.ts &&
      ts <= run.ts + run.dur,
  )
  const cpuNodes = nodes.filter(({ args }) => args?.provider === 'CPUExecutionProvider')
  const onCpu: Record<string, number> = {}
  for (const { args } of cpuNodes) {
    const operator = args?.op_name ?? 'unknown'
    onCpu[operator] = (onCpu[operator] ?? 0) + 1
  }
  // Kernels of a device only start there, so their own times say nothing: the run ends when they have ended.
  const cpuTime = cpuNodes.reduce((sum, { dur }) => sum + dur, 0)
  return { count: nodes.length, onCpu, cpuTimeShare: run.dur === 0 ? 0 : Math.min(1, cpuTime / run.dur) }
}

export function isMostlyOnCpu({ nodes }: Placement): boolean {
  return nodes !== null && nodes.cpuTimeShare > cpuTimeShareMax
}

/** Whether there is more to say than that the provider of choice runs the whole graph. */
export function isPartial({ refused, nodes }: Placement): boolean {
  return refused.length > 0 || cpuNodeCount(nodes) > 0
}

/** Whether a provider leaves all nodes to the CPU. */
export function takesNothing(nodes: NodePlacement): boolean {
  return cpuNodeCount(nodes) === nodes.count
}

/** `text/model.onnx runs on webgpu; the CPU runs 2 of 31 nodes (Cast, Shape), 0.4 % of a run`. */
export function placementText({ file, provider, refused, nodes }: Placement): string {
  return [
    `${file} runs on ${provider}`,
    ...(nodes === null ? [] : [nodesText(nodes)]),
    ...refused.map((reason) => `not on ${reason}`),
  ].join('; ')
}

export function nodesText(nodes: NodePlacement): string {
  const onCpu = cpuNodeCount(nodes)
  if (onCpu === 0) return `all ${nodes.count} nodes`
  const operators = Object.entries(nodes.onCpu)
    .sort(([, a], [, b]) => b - a)
    .map(([operator, count]) => (count === 1 ? operator : `${count} ${operator}`))
  return `the CPU runs ${onCpu} of ${nodes.count} nodes (${operators.join(', ')}), ${percent(nodes.cpuTimeShare)} of a run`
}

function cpuNodeCount(nodes: NodePlacement | null): number {
  return Object.values(nodes?.onCpu ?? {}).reduce((sum, count) => sum + count, 0)
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`
}

/** The distinct providers joined by `+`. */
export function providersOf(placements: readonly Placement[]): string {
  return [...new Set(placements.map(({ provider }) => provider))].join('+')
}
