/**
 * Writes small ONNX graphs of float32 tensors: a protobuf writer and the few messages of onnx.proto they need.
 * Same graph, same bytes. For the transport test and for tests; trained models come from their own tools.
 */

/** A graph input or output. A number is a fixed dimension, a string a free one. */
export interface Port {
  readonly name: string
  readonly shape: readonly (number | string)[]
}

export interface Constant {
  readonly name: string
  readonly shape: readonly number[]
  /** Row-major, as many as the shape says. */
  readonly values: Float32Array
}

/** An operator without attributes: its defaults hold. */
export interface Operator {
  readonly type: string
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
}

export interface Graph {
  readonly name: string
  readonly note: string
  readonly inputs: readonly Port[]
  readonly outputs: readonly Port[]
  readonly constants: readonly Constant[]
  readonly operators: readonly Operator[]
}

const irVersion = 8
const opsetVersion = 17
const elementFloat = 1

/** The bytes of a ModelProto. Numbers in the calls are field numbers of onnx.proto. */
export function writeModel(graph: Graph): Uint8Array {
  return message([
    number(1, irVersion),
    text(2, 'understudy'),
    text(6, graph.note),
    nested(7, [
      ...graph.operators.map((operator) => nested(1, operatorFields(operator))),
      text(2, graph.name),
      ...graph.constants.map((constant) => nested(5, constantFields(constant))),
      ...graph.inputs.map((port) => nested(11, portFields(port))),
      ...graph.outputs.map((port) => nested(12, portFields(port))),
    ]),
    nested(8, [text(1, ''), number(2, opsetVersion)]),
  ])
}

function operatorFields(operator: Operator): Uint8Array[] {
  return [
    ...operator.inputs.map((name) => text(1, name)),
    ...operator.outputs.map((name) => text(2, name)),
    text(4, operator.type),
  ]
}

function constantFields(constant: Constant): Uint8Array[] {
  const count = constant.shape.reduce((product, size) => product * size, 1)
  if (count !== constant.values.length) throw new Error(`${constant.name}: shape and values disagree`)
  return [
    ...constant.shape.map((size) => number(1, size)),
    number(2, elementFloat),
    text(8, constant.name),
    bytes(9, littleEndian(constant.values)),
  ]
}

function portFields(port: Port): Uint8Array[] {
  const dimensions = port.shape.map((size) =>
    nested(1, [typeof size === 'number' ? number(1, size) : text(2, size)]),
  )
  const tensorType = [number(1, elementFloat), nested(2, dimensions)]
  return [text(1, port.name), nested(2, [nested(1, tensorType)])]
}

/** raw_data is little-endian on every machine. */
function littleEndian(values: Float32Array): Uint8Array {
  const view = new DataView(new ArrayBuffer(values.length * 4))
  values.forEach((value, index) => view.setFloat32(index * 4, value, true))
  return new Uint8Array(view.buffer)
}

// ---- protobuf: a field is its number and wire type as a varint, then a varint (0) or a length and bytes (2)

function number(field: number, value: number): Uint8Array {
  return message([varint(field * 8), varint(value)])
}

function bytes(field: number, value: Uint8Array): Uint8Array {
  return message([varint(field * 8 + 2), varint(value.length), value])
}

function text(field: number, value: string): Uint8Array {
  return bytes(field, new TextEncoder().encode(value))
}

function nested(field: number, fields: readonly Uint8Array[]): Uint8Array {
  return bytes(field, message(fields))
}

function message(fields: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(fields))
}

/** Seven bits a byte, lowest first, the top bit set on all but the last. */
function varint(value: number): Uint8Array {
  const digits: number[] = []
  let rest = value
  do {
    digits.push((rest % 128) + (rest >= 128 ? 128 : 0))
    rest = Math.floor(rest / 128)
  } while (rest > 0)
  return Uint8Array.from(digits)
}
