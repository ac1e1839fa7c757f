/**
 * Writes small ONNX graphs: a protobuf writer and the required messages of onnx.proto. The same graph gives the same bytes.
 * The shipped packages and tests use it; trained models are exported by their own tools.
 */

/** Element types of tensors, with the numbers of onnx.proto. */
export const elementTypes = { float32: 1, uint8: 2, int32: 6, int64: 7, float16: 10, float64: 11 } as const
export type ElementType = keyof typeof elementTypes

/** A graph input or output. In a shape, a number is a fixed dimension and a string a dynamic one; null: unknown rank. */
export interface Port {
  readonly name: string
  readonly shape: readonly (number | string)[] | null
  /** Default float32. */
  readonly element?: ElementType
}

export interface Constant {
  readonly name: string
  readonly shape: readonly number[]
  /** Row-major. Their number must match the shape; the array type determines the element type. */
  readonly values: Float32Array | Float64Array | Int32Array | BigInt64Array
}

export interface Operator {
  readonly type: string
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  /** Omitted attributes have their defaults. */
  readonly attributes?: { readonly [name: string]: Attribute }
  /** Default: the standard operators. */
  readonly domain?: typeof mlDomain
}

/** An attribute with its type, which the value alone does not determine: 1 may be a float or an integer. */
export type Attribute =
  | { readonly float: number }
  | { readonly int: number }
  | { readonly text: string }
  | { readonly floats: readonly number[] }
  | { readonly ints: readonly number[] }
  | { readonly texts: readonly string[] }
  | { readonly tensor: Constant }

export interface Graph {
  readonly name: string
  readonly note: string
  readonly inputs: readonly Port[]
  readonly outputs: readonly Port[]
  readonly constants: readonly Constant[]
  readonly operators: readonly Operator[]
  /** Version of the standard operators. Default 17. */
  readonly opset?: number
  /** Version of the file format. Default 8. */
  readonly irVersion?: number
  /** Version of `ai.onnx.ml`, which is imported if an operator belongs to it. Default 3. */
  readonly mlOpset?: number
}

/** The domain of tree ensembles and other classical models. */
export const mlDomain = 'ai.onnx.ml'

const defaultIrVersion = 8
const defaultOpset = 17
const defaultMlOpset = 3

/** The bytes of a ModelProto. Numbers in the calls are field numbers of onnx.proto. */
export function writeModel(graph: Graph): Uint8Array {
  const usesMl = graph.operators.some((operator) => operator.domain === mlDomain)
  return message([
    number(1, graph.irVersion ?? defaultIrVersion),
    text(2, 'understudy'),
    text(6, graph.note),
    nested(7, [
      ...graph.operators.map((operator) => nested(1, operatorFields(operator))),
      text(2, graph.name),
      ...graph.constants.map((constant) => nested(5, constantFields(constant))),
      ...graph.inputs.map((port) => nested(11, portFields(port))),
      ...graph.outputs.map((port) => nested(12, portFields(port))),
    ]),
    nested(8, [text(1, ''), number(2, graph.opset ?? defaultOpset)]),
    ...(usesMl ? [nested(8, [text(1, mlDomain), number(2, graph.mlOpset ?? defaultMlOpset)])] : []),
  ])
}

function operatorFields(operator: Operator): Uint8Array[] {
  const attributes = Object.entries(operator.attributes ?? {})
  return [
    ...operator.inputs.map((name) => text(1, name)),
    ...operator.outputs.map((name) => text(2, name)),
    text(4, operator.type),
    ...attributes.map(([name, attribute]) => nested(5, [text(1, name), ...attributeFields(attribute)])),
    ...(operator.domain === undefined ? [] : [text(7, operator.domain)]),
  ]
}

/** The value, then its type in field 20. */
function attributeFields(attribute: Attribute): Uint8Array[] {
  if ('float' in attribute) return [float(2, attribute.float), number(20, 1)]
  if ('int' in attribute) return [number(3, attribute.int), number(20, 2)]
  if ('text' in attribute) return [text(4, attribute.text), number(20, 3)]
  if ('tensor' in attribute) return [nested(5, constantFields(attribute.tensor)), number(20, 4)]
  if ('floats' in attribute) return [...attribute.floats.map((value) => float(7, value)), number(20, 6)]
  if ('ints' in attribute) return [...attribute.ints.map((value) => number(8, value)), number(20, 7)]
  return [...attribute.texts.map((value) => text(9, value)), number(20, 8)]
}

function constantFields(constant: Constant): Uint8Array[] {
  const count = constant.shape.reduce((product, size) => product * size, 1)
  if (count !== constant.values.length) throw new Error(`${constant.name}: shape and values disagree`)
  return [
    ...constant.shape.map((size) => number(1, size)),
    number(2, elementTypes[elementOf(constant.values)]),
    text(8, constant.name),
    bytes(9, littleEndian(constant.values)),
  ]
}

function elementOf(values: Constant['values']): ElementType {
  if (values instanceof Float32Array) return 'float32'
  if (values instanceof Float64Array) return 'float64'
  return values instanceof Int32Array ? 'int32' : 'int64'
}

function portFields(port: Port): Uint8Array[] {
  const dimensions = port.shape?.map((size) =>
    nested(1, [typeof size === 'number' ? number(1, size) : text(2, size)]),
  )
  const element = number(1, elementTypes[port.element ?? 'float32'])
  const tensorType = dimensions === undefined ? [element] : [element, nested(2, dimensions)]
  return [text(1, port.name), nested(2, [nested(1, tensorType)])]
}

/** raw_data is little-endian. */
function littleEndian(values: Constant['values']): Uint8Array {
  const view = new DataView(new ArrayBuffer(values.byteLength))
  if (values instanceof Float32Array)
    values.forEach((value, index) => view.setFloat32(index * 4, value, true))
  else if (values instanceof Float64Array)
    values.forEach((value, index) => view.setFloat64(index * 8, value, true))
  else if (values instanceof Int32Array)
    values.forEach((value, index) => view.setInt32(index * 4, value, true))
  else values.forEach((value, index) => view.setBigInt64(index * 8, value, true))
  return new Uint8Array(view.buffer)
}

// ---- protobuf: a field is a varint of its number and wire type, followed by a varint (wire type 0), a length and bytes
// (2), or four bytes (5)

function number(field: number, value: number): Uint8Array {
  return message([varint(field * 8), varint(value)])
}

function float(field: number, value: number): Uint8Array {
  return message([varint(field * 8 + 5), littleEndian(Float32Array.of(value))])
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

/** Seven bits per byte, lowest first; all bytes except the last have the top bit set. Negative: 64-bit two's complement. */
function varint(value: number): Uint8Array {
  const digits: number[] = []
  let rest = BigInt.asUintN(64, BigInt(value))
  do {
    digits.push(Number(rest % 128n) + (rest >= 128n ? 128 : 0))
    rest /= 128n
  } while (rest > 0n)
  return Uint8Array.from(digits)
}
