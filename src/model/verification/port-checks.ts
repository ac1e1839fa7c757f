/**
 * Inputs and outputs of the graphs against the manifest, as ONNX Runtime reports them: names, element types, ranks and
 * widths. The processes of a loaded model have reported them. If it does not load, a process of its own opens each graph, so
 * that a wrong export is reported in terms of the manifest, and each wrong graph of several.
 */
import { join } from 'node:path'
import { gibibyte, type Log } from '../../base/index.js'
import { headPortProblems } from '../sessions/head-ports.js'
import { imagePortProblems } from '../image/image-ports.js'
import { portText, type Port, type Ports } from '../sessions/ports.js'
import { textPortProblems } from '../text/text-ports.js'
import { headGraphs, namedGraphs } from '../package/parse-manifest.js'
import { imageSettings, textSettings } from '../package/settings.js'
import type { Manifest } from '../package/manifest.js'
import type { ModelPackage } from '../package/read-package.js'
import {
  matrixWidths,
  planGraphFiles,
  planHeadPorts,
  type FilePlan,
  type GraphFiles,
} from '../sessions/plans.js'
import { SessionProcess } from '../sessions/session-process.js'
import { fail, pass, type Check } from './report.js'

/** Memory limit of the process that opens one graph. */
const bytesMax = 4 * gibibyte

export interface PortOptions {
  /** Tried after the CPU, for graphs that it cannot open. */
  readonly executionProviders: readonly string[]
  readonly log: Log
}

/** The inputs and outputs of an ONNX file. Rejects with a `ModelError` when it cannot be opened. */
export async function readPorts(files: GraphFiles, { executionProviders, log }: PortOptions): Promise<Ports> {
  const providers = [...new Set(['cpu', ...executionProviders])]
  const plan = { role: 'ports', ...files, providers, intraOpThreads: 1 } as const
  const process = await SessionProcess.start({ name: 'the graph', plan, bytesMax, log })
  const { ports } = await process.starting(() => process.open())
  await process.stop()
  return ports[0]!
}

/** One check for each graph. `loaded`: the ports of a model that has been loaded; null: it does not load. */
export function graphChecks(
  { directory, manifest }: ModelPackage,
  loaded: readonly Ports[] | null,
  options: PortOptions,
): Check[] {
  const planFile = ({ file, sha256 }: FilePlan): FilePlan => ({ file: join(directory, file), sha256 })
  return namedGraphs(manifest).map(({ member, graph }, index): Check => {
    return [
      `graph ${member}`,
      async () => {
        const ports = loaded?.[index] ?? (await readPorts(planGraphFiles(graph, planFile), options))
        const problems = portProblems(manifest, member, ports)
        return problems.length === 0
          ? pass(`From ${describe(ports.inputs)} to ${describe(ports.outputs)}.`)
          : fail(`${graph.file}: ${problems.join('; ')}.`)
      },
    ]
  })
}

/** The problems of a graph's ports; `member`: that of the manifest, such as `head[1]`. */
export function portProblems(manifest: Manifest, member: string, ports: Ports): string[] {
  const { text, image } = manifest
  if (member === 'text') return text === undefined ? [] : textPortProblems(ports, textSettings(text))
  if (member === 'image') return image === undefined ? [] : imagePortProblems(ports, imageSettings(image))
  const graph = headGraphs(manifest)[namedGraphs(manifest).findIndex((named) => named.member === member)]
  return graph === undefined ? [] : headPortProblems(ports, planHeadPorts(graph), matrixWidths(manifest))
}

function describe(ports: readonly Port[]): string {
  return ports.map((port) => `${port.name} ${portText(port)}`).join(', ')
}
