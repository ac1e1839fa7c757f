/**
 * `understudy models inspect`: the manifest of a package and the inputs and outputs of its graphs; or those of a single
 * ONNX file, before there is a manifest.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import {
  headsOf,
  imageEncoderHash,
  modelIdentity,
  portText,
  readPackage,
  readPorts,
  sizeText,
  textEncoderHash,
  type Manifest,
  type ModelPackage,
  type Ports,
} from '../../model/index.js'
import type { Settings } from '../../server/index.js'
import type { CommandContext } from '../context.js'
import { CommandError, messageOf } from '../failure.js'
import { wrapCells } from '../text-table.js'
import { chosenVersion, type Flags } from './settings.js'

const cellsDefault = 110
const labelCells = 14
/** What cannot be opened is in the error. */
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }

interface GraphView {
  /** In the manifest; null for a file that was named by itself. */
  readonly place: string | null
  readonly file: string
  readonly bytes: number
  /** Of the file as it is. */
  readonly sha256: string
  /** What the manifest says; null without one. */
  readonly sha256Expected: string | null
  readonly graph: Ports | null
  /** Why the graph cannot be opened. */
  readonly problem: string | null
}

/** `subject`: a version, the path of a file that ends in `.onnx`, or undefined for the active version. */
export async function inspect(
  subject: string | undefined,
  settings: Settings,
  { json }: Flags,
  { print, columns, directory }: CommandContext,
): Promise<void> {
  const cells = columns() ?? cellsDefault
  if (subject?.endsWith('.onnx') === true) {
    const entry = { place: null, file: subject, sha256: null }
    const graph = await look(resolve(directory, subject), entry, settings)
    if (json === true) print(`${JSON.stringify(graphInJson(graph), null, 2)}\n`)
    else print(blockText(graphRows(graph), cells))
    if (graph.problem !== null) throw new CommandError(graph.problem)
    return
  }
  const found = await readPackage(settings.modelsDir, await chosenVersion(subject, settings))
  const graphs = await Promise.all(
    found.files
      .filter(({ place }) => place !== 'golden' && place !== 'text.tokenizer')
      .map((entry) => look(entry.path, entry, settings)),
  )
  if (json === true) print(`${JSON.stringify(inJson(found, graphs), null, 2)}\n`)
  else print(inText(found, graphs, cells))
}

/** The file at `path`; `sha256`: the manifest's. */
async function look(
  path: string,
  { place, file, sha256 }: { place: string | null; file: string; sha256: string | null },
  { executionProviders }: Settings,
): Promise<GraphView> {
  const content = await readFile(path).catch((cause: unknown) => {
    throw new CommandError(`cannot read ${path}: ${messageOf(cause)}`, { cause })
  })
  const found = createHash('sha256').update(content).digest('hex')
  const view = { place, file, bytes: content.length, sha256: found, sha256Expected: sha256 }
  try {
    const graph = await readPorts({ file: path, sha256: found }, { executionProviders, log: silent })
    return { ...view, graph, problem: null }
  } catch (error) {
    return { ...view, graph: null, problem: messageOf(error) }
  }
}

function inJson({ manifest }: ModelPackage, graphs: readonly GraphView[]): object {
  return {
    manifest,
    identity: modelIdentity(manifest),
    encoders: encoderHashes(manifest),
    graphs: graphs.map(graphInJson),
  }
}

function graphInJson({ sha256Expected, ...view }: GraphView): object {
  return {
    ...view,
    ...(sha256Expected === null ? {} : { is_as_manifest_says: view.sha256 === sha256Expected }),
  }
}

function encoderHashes({ text, image }: Manifest): { text: string | null; image: string | null } {
  return {
    text: text === undefined ? null : textEncoderHash(text),
    image: image === undefined ? null : imageEncoderHash(image),
  }
}

type Row = readonly [label: string, value: string]

function inText({ manifest, files }: ModelPackage, graphs: readonly GraphView[], cells: number): string {
  const { provenance, note, features, missing, text, image } = manifest
  const hashes = encoderHashes(manifest)
  const general: Row[] = [
    ['version', manifest.model_version],
    ['kind', manifest.kind === 'trained' ? 'trained' : 'transport-test: no trained model'],
    ...optional('trained on', provenance?.trained_on),
    ...optional('date', provenance?.date),
    ...optional('provenance', provenance?.note),
    ...optional('note', note),
    ['heads', headsOf(manifest).join(', ')],
    ['features', `${features.length}: ${features.join(', ')}`],
    ['missing', missing === 'nan' ? 'NaN' : 'imputed'],
    ...(text === undefined
      ? []
      : [
          [
            'text',
            `${text.dim} wide, ${text.pooling} over up to ${text.tokens_max} tokens, encoder ${hashes.text ?? ''}`,
          ] as const,
          ['template', JSON.stringify(text.template)] as const,
        ]),
    ...(image === undefined
      ? []
      : [
          [
            'image',
            `${image.dim} wide, ${image.pooling} over a post's images, encoder ${hashes.image ?? ''}`,
          ] as const,
        ]),
    ['identity', modelIdentity(manifest)],
    ['files', files.map(({ file, bytes }) => `${file} (${sizeText(bytes)})`).join(', ')],
  ]
  const blocks = [general, ...graphs.map(graphRows)]
  return blocks.map((rows) => blockText(rows, cells)).join('\n')
}

function blockText(rows: readonly Row[], cells: number): string {
  return rows.map((row) => lines(row, cells)).join('')
}

function graphRows({ place, file, bytes, sha256, sha256Expected, graph, problem }: GraphView): Row[] {
  const verdict =
    sha256Expected === null
      ? ''
      : sha256Expected === sha256
        ? ', as the manifest says'
        : `, and the manifest says ${sha256Expected}`
  const head: Row[] = [
    ...(place === null ? [] : [['graph', place] as const]),
    ['file', `${file}, ${sizeText(bytes)}`],
    ['SHA-256', `${sha256}${verdict}`],
  ]
  if (graph === null) return [...head, ['problem', problem ?? '']]
  return [
    ...head,
    ...graph.inputs.map((port): Row => ['input', `${port.name}: ${portText(port)}`]),
    ...graph.outputs.map((port): Row => ['output', `${port.name}: ${portText(port)}`]),
  ]
}

function lines([label, value]: Row, cells: number): string {
  return wrapCells(value, Math.max(cells - labelCells, 30))
    .map((piece, number) => `${(number === 0 ? label : '').padEnd(labelCells)}${piece}`.trimEnd() + '\n')
    .join('')
}

function optional(label: string, value: string | undefined): Row[] {
  return value === undefined ? [] : [[label, value]]
}
