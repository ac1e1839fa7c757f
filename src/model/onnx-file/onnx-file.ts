/**
 * What an ONNX file says of itself: versions, ports and operators, read straight from its protobuf. No session is
 * opened, so this is cheap and tells also of graphs that no provider here can run.
 * Numbers in the code are field numbers of onnx.proto.
 */
import { ModelError } from '../model.js'
import { fieldsOf, ProtobufError, textOf } from './protobuf.js'

export interface OnnxFile {
  readonly irVersion: number
  /** Tool and version that wrote it, such as `pytorch 2.4.0`; empty where it does not say. */
  readonly producer: string
  /** Operator sets that it needs. */
  readonly opsets: readonly OnnxOpset[]
  /** Without those that have a value in the file. */
  readonly inputs: readonly OnnxPort[]
  readonly outputs: readonly OnnxPort[]
  /** Types of operators in the order of their names, those of inner graphs too. */
  readonly operators: readonly OnnxOperator[]
  /** Files beside it that hold its weights: this service reads graphs that are whole, and refuses such. */
  readonly externalFiles: readonly string[]
}

export interface OnnxOpset {
  /** `ai.onnx` for the common one. */
  readonly domain: string
  readonly version: number
}

export interface OnnxPort {
  readonly name: string
  readonly kind: 'tensor' | 'sequence' | 'map' | 'optional' | 'sparse' | 'unknown'
  /** Names as in ONNX Runtime for JavaScript: `float32`, `float64`, `int64`, …; of a tensor. */
  readonly dtype: string | null
  /** A number is a fixed dimension, a string a free one with a name, null a free one. Null for an unknown rank. */
  readonly shape: readonly (number | string | null)[] | null
}

export interface OnnxOperator {
  readonly domain: string
  readonly type: string
  readonly count: number
}

/** Names of TensorProto.DataType by number. */
const elementTypes = [
  'undefined',
  'float32',
  'uint8',
  'int8',
  'uint16',
  'int16',
  'int32',
  'int64',
  'string',
  'bool',
  'float16',
  'float64',
  'uint32',
  'uint64',
  'complex64',
  'complex128',
  'bfloat16',
]
const portKinds: Readonly<Record<number, OnnxPort['kind']>> = {
  1: 'tensor',
  4: 'sequence',
  5: 'map',
  8: 'sparse',
  9: 'optional',
}
const commonDomain = 'ai.onnx'
/** A negative int64 as a varint without a sign. */
const negativeFrom = 2 ** 63
/** Graphs within graphs: loops and branches. A file that goes deeper is made to hurt. */
const depthMax = 32

/** Throws a `ModelError` that begins with `name` when the bytes are no ONNX model. */
export function readOnnx(bytes: Uint8Array, name: string): OnnxFile {
  try {
    return readModel(bytes)
  } catch (cause) {
    if (!(cause instanceof ProtobufError)) throw cause
    throw new ModelError(`${name} is no ONNX file: ${cause.message}`, { cause })
  }
}

/** `float32 [N, 64]`; `?` for a free dimension without a name. */
export function portText({ kind, dtype, shape }: OnnxPort): string {
  if (kind !== 'tensor') return kind
  return `${dtype ?? 'unknown'} ${shape === null ? '[any rank]' : `[${shape.map((size) => size ?? '?').join(', ')}]`}`
}

/** What is gathered while the graphs are walked. */
interface Survey {
  readonly operators: Map<string, { domain: string; type: string; count: number }>
  readonly externalFiles: Set<string>
}

function readModel(bytes: Uint8Array): OnnxFile {
  const survey: Survey = { operators: new Map(), externalFiles: new Set() }
  const opsets: OnnxOpset[] = []
  let irVersion = 0
  let graph: Uint8Array | null = null
  let [tool, toolVersion] = ['', '']
  for (const field of fieldsOf(bytes)) {
    if (field.number === 1) irVersion = field.value
    else if (field.number === 2) tool = textOf(field)
    else if (field.number === 3) toolVersion = textOf(field)
    else if (field.number === 7) graph = field.bytes
    else if (field.number === 8) opsets.push(readOpset(field.bytes))
    else if (field.number === 25) readNodes(field.bytes, 7, survey, 0)
  }
  if (graph === null || irVersion === 0) throw new ProtobufError('it has no graph')
  const ports = readGraph(graph, survey, 0)
  return {
    irVersion,
    producer: `${tool} ${toolVersion}`.trim(),
    opsets,
    ...ports,
    operators: [...survey.operators.values()].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)),
    externalFiles: [...survey.externalFiles].sort(),
  }
}

function readOpset(bytes: Uint8Array): OnnxOpset {
  let domain = ''
  let version = 0
  for (const field of fieldsOf(bytes)) {
    if (field.number === 1) domain = textOf(field)
    else if (field.number === 2) version = field.value
  }
  return { domain: domain || commonDomain, version }
}

function readGraph(bytes: Uint8Array, survey: Survey, depth: number): Pick<OnnxFile, 'inputs' | 'outputs'> {
  const inputs: OnnxPort[] = []
  const outputs: OnnxPort[] = []
  const valued = new Set<string>()
  for (const field of fieldsOf(bytes)) {
    if (field.number === 5) valued.add(readTensor(field.bytes, survey))
    else if (field.number === 11) inputs.push(readPort(field.bytes))
    else if (field.number === 12) outputs.push(readPort(field.bytes))
  }
  readNodes(bytes, 1, survey, depth)
  return { inputs: inputs.filter(({ name }) => !valued.has(name)), outputs }
}

/** The nodes of a graph (field 1) or of a function (field 7). */
function readNodes(bytes: Uint8Array, nodeField: number, survey: Survey, depth: number): void {
  if (depth > depthMax) throw new ProtobufError('its graphs lie too deep in each other')
  for (const field of fieldsOf(bytes)) if (field.number === nodeField) readNode(field.bytes, survey, depth)
}

function readNode(bytes: Uint8Array, survey: Survey, depth: number): void {
  let type = ''
  let domain = ''
  for (const field of fieldsOf(bytes)) {
    if (field.number === 4) type = textOf(field)
    else if (field.number === 7) domain = textOf(field)
    else if (field.number === 5) readAttribute(field.bytes, survey, depth)
  }
  const operator = { domain: domain || commonDomain, type, count: 1 }
  const known = survey.operators.get(keyOf(operator))
  if (known === undefined) survey.operators.set(keyOf(operator), operator)
  else known.count++
}

/** Attributes matter for what lies in them: a tensor (5, 10) and graphs (6, 11). */
function readAttribute(bytes: Uint8Array, survey: Survey, depth: number): void {
  for (const field of fieldsOf(bytes)) {
    if ((field.number === 5 || field.number === 10) && field.bytes.length > 0) readTensor(field.bytes, survey)
    else if (field.number === 6 || field.number === 11) readGraph(field.bytes, survey, depth + 1)
  }
}

/** The name of a tensor with a value. */
function readTensor(bytes: Uint8Array, survey: Survey): string {
  let name = ''
  for (const field of fieldsOf(bytes)) {
    if (field.number === 8) name = textOf(field)
    else if (field.number === 13) {
      const [key, value] = readEntry(field.bytes)
      if (key === 'location') survey.externalFiles.add(value)
    }
  }
  return name
}

function readEntry(bytes: Uint8Array): [key: string, value: string] {
  const entry: [string, string] = ['', '']
  for (const field of fieldsOf(bytes)) {
    if (field.number === 1) entry[0] = textOf(field)
    else if (field.number === 2) entry[1] = textOf(field)
  }
  return entry
}

function readPort(bytes: Uint8Array): OnnxPort {
  let port: OnnxPort = { name: '', kind: 'unknown', dtype: null, shape: null }
  for (const field of fieldsOf(bytes)) {
    if (field.number === 1) port = { ...port, name: textOf(field) }
    else if (field.number === 2) port = { ...port, ...readType(field.bytes) }
  }
  return port
}

function readType(bytes: Uint8Array): Omit<OnnxPort, 'name'> {
  for (const field of fieldsOf(bytes)) {
    const kind = portKinds[field.number]
    if (kind === 'tensor') return { kind, ...readTensorType(field.bytes) }
    if (kind !== undefined) return { kind, dtype: null, shape: null }
  }
  return { kind: 'unknown', dtype: null, shape: null }
}

function readTensorType(bytes: Uint8Array): Pick<OnnxPort, 'dtype' | 'shape'> {
  let dtype: string | null = null
  let shape: OnnxPort['shape'] = null
  for (const field of fieldsOf(bytes)) {
    if (field.number === 1) dtype = elementTypes[field.value] ?? `type ${field.value}`
    else if (field.number === 2) {
      shape = [...fieldsOf(field.bytes)].filter(({ number }) => number === 1).map((dim) => readDim(dim.bytes))
    }
  }
  return { dtype, shape }
}

/** Some tools write -1 for a free dimension, and ONNX Runtime takes it for one. */
function readDim(bytes: Uint8Array): number | string | null {
  for (const field of fieldsOf(bytes)) {
    if (field.number === 1) return field.value < negativeFrom ? field.value : null
    if (field.number === 2) return textOf(field)
  }
  return null
}

function keyOf({ domain, type }: Pick<OnnxOperator, 'domain' | 'type'>): string {
  return `${domain}/${type}`
}
