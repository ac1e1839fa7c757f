/**
 * `understudy models inspect`: what a package says of itself, and what its ONNX files say; or what a single ONNX file
 * says, before there is a manifest. No session is opened.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import {
  fileProblems,
  headsOf,
  imageEncoderHash,
  modelIdentity,
  portText,
  readOnnx,
  readPackage,
  sizeText,
  textEncoderHash,
  type Manifest,
  type ModelPackage,
  type OnnxFile,
} from '../../model/index.js'
import type { Settings } from '../../server/index.js'
import type { CommandContext } from '../context.js'
import { CommandError, messageOf } from '../failure.js'
import { wrapCells } from '../text-table.js'
import { chosenVersion, type Flags } from './settings.js'

const cellsDefault = 110
const labelCells = 14

interface GraphView {
  /** In the manifest; null for a file that was named by itself. */
  readonly place: string | null
  readonly file: string
  readonly bytes: number
  /** Of the file as it is. */
  readonly sha256: string
  /** What the manifest says; null without one. */
  readonly sha256Expected: string | null
  readonly graph: OnnxFile | null
  /** Why the file cannot be read as ONNX. */
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
    const graph = await look(resolve(directory, subject), { place: null, file: subject, sha256: null })
    if (json === true) print(`${JSON.stringify(graphInJson(graph), null, 2)}\n`)
    else print(blockText(graphRows(graph), cells))
    if (graph.problem !== null) throw new CommandError(graph.problem)
    return
  }
  const found = await readPackage(settings.modelsDir, await chosenVersion(subject, settings))
  const graphs = await Promise.all(
    found.files
      .filter(({ place }) => place !== 'golden' && place !== 'text.tokenizer')
      .map((entry) => look(entry.path, entry)),
  )
  if (json === true) print(`${JSON.stringify(inJson(found, graphs), null, 2)}\n`)
  else print(inText(found, graphs, cells))
}

/** What is in the file at `path`; `sha256`: what the manifest says. */
async function look(
  path: string,
  { place, file, sha256 }: { place: string | null; file: string; sha256: string | null },
): Promise<GraphView> {
  const content = await readFile(path).catch((cause: unknown) => {
    throw new CommandError(`cannot read ${path}: ${messageOf(cause)}`, { cause })
  })
  const found = createHash('sha256').update(content).digest('hex')
  const view = { place, file, bytes: content.length, sha256: found, sha256Expected: sha256 }
  try {
    return { ...view, graph: readOnnx(content, path), problem: null }
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
    ['made by', graph.producer || 'unknown'],
    [
      'versions',
      [`IR ${graph.irVersion}`, ...graph.opsets.map(({ domain, version }) => `${domain} ${version}`)].join(
        ', ',
      ),
    ],
    ...graph.inputs.map((port): Row => ['input', `${port.name}: ${portText(port)}`]),
    ...graph.outputs.map((port): Row => ['output', `${port.name}: ${portText(port)}`]),
    [
      'operators',
      graph.operators
        .map(({ domain, type, count }) => `${domain === 'ai.onnx' ? '' : `${domain}.`}${type} ${count}`)
        .join(', '),
    ],
    ...fileProblems(graph).map((words): Row => ['problem', words]),
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
