/**
 * `understudy models inspect`: the manifest of a package and the inputs and outputs of its graphs, or those of a single
 * ONNX file without a manifest.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { silentLog, sizeText } from '../../base/index.js'
import {
  featureNames,
  findExternalData,
  headsOf,
  imageEncoderHash,
  modelIdentity,
  namedGraphs,
  portText,
  readPackage,
  readPorts,
  textEncoderHash,
  type Manifest,
  type ModelPackage,
  type Ports,
} from '../../model/index.js'
import type { Settings } from '../../settings/index.js'
import { printResult, type CommandContext } from '../context.js'
import { CommandError, messageLine } from '../failure.js'
import { settingsOf, type Flags } from '../settings/read-settings.js'
import { labelledLines } from '../text/text-table.js'
import { chosenVersion } from './common.js'

const labelCells = 14

interface GraphView {
  /** The graph's place in the manifest; null for a single file. */
  readonly place: string | null
  readonly file: string
  readonly bytes: number
  readonly sha256: string
  /** What the manifest states; null without a manifest. */
  readonly sha256Expected: string | null
  readonly graph: Ports | null
  /** Why the graph cannot be opened. */
  readonly problem: string | null
}

/** `subject`: a version, the path of a file that ends in `.onnx`, or undefined for the active version. */
export async function inspect(
  subject: string | undefined,
  flags: Flags,
  context: CommandContext,
): Promise<void> {
  const settings = settingsOf(flags, context)
  const cells = context.columns()
  const write = (json: object, blocks: readonly (readonly Row[])[]): void =>
    printResult(context, flags, json, () =>
      blocks.map((rows) => rows.map((row) => rowText(row, cells)).join('')).join('\n'),
    )
  if (subject?.endsWith('.onnx') === true) {
    const entry = { member: null, file: subject, sha256: null }
    const graph = await readGraph(resolve(context.directory, subject), entry, settings)
    write(graphJson(graph), [graphRows(graph)])
    if (graph.problem !== null) throw new CommandError(graph.problem)
    return
  }
  const modelPackage = await readPackage(settings.modelsDir, await chosenVersion(subject, settings))
  const graphs = await Promise.all(
    modelPackage.files
      .filter(({ member }) => namedGraphs(modelPackage.manifest).some((graph) => graph.member === member))
      .map((entry) => readGraph(entry.path, entry, settings)),
  )
  const { manifest } = modelPackage
  write(
    {
      manifest,
      identity: modelIdentity(manifest),
      encoders: encoderHashes(manifest),
      graphs: graphs.map(graphJson),
    },
    [packageRows(modelPackage), ...graphs.map(graphRows)],
  )
}

/** `sha256`: the manifest's. */
async function readGraph(
  path: string,
  { member, file, sha256 }: { member: string | null; file: string; sha256: string | null },
  { executionProviders }: Settings,
): Promise<GraphView> {
  const content = await readFile(path).catch((cause: unknown) => {
    throw new CommandError(`cannot read ${path}: ${messageLine(cause)}`, { cause })
  })
  const actualSha256 = createHash('sha256').update(content).digest('hex')
  const view = { place: member, file, bytes: content.length, sha256: actualSha256, sha256Expected: sha256 }
  try {
    // The error of a graph that cannot be opened has all details.
    const externalData = await findExternalData(path, content)
    const files = { file: path, sha256: actualSha256, externalData }
    const graph = await readPorts(files, { executionProviders, log: silentLog })
    return { ...view, graph, problem: null }
  } catch (error) {
    return { ...view, graph: null, problem: messageLine(error) }
  }
}

function graphJson({ sha256Expected, ...view }: GraphView): object {
  return {
    ...view,
    ...(sha256Expected === null ? {} : { matches_manifest: view.sha256 === sha256Expected }),
  }
}

function encoderHashes({ text, image }: Manifest): { text: string | null; image: string | null } {
  return {
    text: text === undefined ? null : textEncoderHash(text),
    image: image === undefined ? null : imageEncoderHash(image),
  }
}

type Row = readonly [label: string, value: string | undefined]

function packageRows({ manifest, files }: ModelPackage): Row[] {
  const { provenance, note, missing, galleries, text, image } = manifest
  const features = featureNames(manifest)
  const hashes = encoderHashes(manifest)
  return [
    ['version', manifest.model_version],
    ['kind', manifest.kind],
    ['trained on', provenance?.trained_on],
    ['date', provenance?.date],
    ['provenance', provenance?.note],
    ['note', note],
    ['heads', headsOf(manifest).join(', ')],
    ['features', `${features.length}: ${features.join(', ')}`],
    ['missing', missing === 'nan' ? 'NaN' : 'imputed'],
    ['galleries', galleries && `${galleries.length}: ${galleries.join(', ')}`],
    [
      'text',
      text &&
        `${text.dim} values, ${text.pooling ?? 'pooled by the graph'}, up to ${text.tokens_max} tokens, encoder ${hashes.text ?? ''}`,
    ],
    ['template', text && JSON.stringify(text.template)],
    [
      'image',
      image && `${image.dim} values, ${image.pooling} of a post's images, encoder ${hashes.image ?? ''}`,
    ],
    ['identity', modelIdentity(manifest)],
    ['files', files.map(({ file, bytes }) => `${file} (${sizeText(bytes)})`).join(', ')],
  ]
}

function graphRows({ place, file, bytes, sha256, sha256Expected, graph, problem }: GraphView): Row[] {
  const comparison =
    sha256Expected === sha256 ? ', same as in the manifest' : `, in the manifest ${sha256Expected}`
  return [
    ['graph', place ?? undefined],
    ['file', `${file}, ${sizeText(bytes)}`],
    ['SHA-256', sha256 + (sha256Expected === null ? '' : comparison)],
    ['problem', problem ?? undefined],
    ...(graph?.inputs ?? []).map((port): Row => ['input', `${port.name}: ${portText(port)}`]),
    ...(graph?.outputs ?? []).map((port): Row => ['output', `${port.name}: ${portText(port)}`]),
  ]
}

/** The lines of a row; none without a value. */
function rowText([label, value]: Row, cells: number | undefined): string {
  return value === undefined ? '' : labelledLines(label.padEnd(labelCells), value, cells)
}
