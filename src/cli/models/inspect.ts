/**
 * `understudy models inspect`: what a package says of itself, and what its ONNX files say. No session is opened.
 */
import { readFile } from 'node:fs/promises'
import {
  headsOf,
  imageEncoderHash,
  modelIdentity,
  portText,
  readOnnx,
  readPackage,
  textEncoderHash,
  type Manifest,
  type ModelPackage,
  type OnnxFile,
} from '../../model/index.js'
import type { Settings } from '../../server/index.js'
import type { CommandContext } from '../context.js'
import { messageOf } from '../failure.js'
import { wrapCells } from '../text-table.js'
import { sizeText } from './report-text.js'
import { chosenVersion, type Flags } from './settings.js'

const cellsDefault = 110
const labelCells = 14

interface GraphView {
  readonly place: string
  readonly file: string
  readonly bytes: number
  readonly sha256: string
  readonly graph: OnnxFile | null
  /** Why the file cannot be read as ONNX. */
  readonly problem: string | null
}

export async function inspect(
  version: string | undefined,
  settings: Settings,
  { json }: Flags,
  { print, columns }: CommandContext,
): Promise<void> {
  const found = await readPackage(settings.modelsDir, await chosenVersion(version, settings))
  const graphs = await Promise.all(
    found.files
      .filter(({ place }) => place !== 'golden' && place !== 'text.tokenizer')
      .map(async ({ place, file, path, bytes, sha256 }): Promise<GraphView> => {
        const view = { place, file, bytes, sha256 }
        try {
          return { ...view, graph: readOnnx(await readFile(path), path), problem: null }
        } catch (error) {
          return { ...view, graph: null, problem: messageOf(error) }
        }
      }),
  )
  if (json === true) print(`${JSON.stringify(inJson(found, graphs), null, 2)}\n`)
  else print(inText(found, graphs, columns() ?? cellsDefault))
}

function inJson({ manifest }: ModelPackage, graphs: readonly GraphView[]): object {
  return { manifest, identity: modelIdentity(manifest), encoders: encoderHashes(manifest), graphs }
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
  return blocks.map((rows) => rows.map((row) => lines(row, cells)).join('')).join('\n')
}

function graphRows({ place, file, bytes, sha256, graph, problem }: GraphView): Row[] {
  const head: Row[] = [
    ['graph', place],
    ['file', `${file}, ${sizeText(bytes)}, SHA-256 ${sha256} as the manifest says`],
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
    ...(graph.externalFiles.length === 0
      ? []
      : [['external', `${graph.externalFiles.join(', ')}: this service reads graphs of one file`] as const]),
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
