/**
 * Tensors of numbers at the ports of a graph: floating-point ones may be of any of three types, a single column of features also of
 * integers. Everything else here is float32.
 */
import * as ort from 'onnxruntime-node'
import { portNamed, wordList, type Port } from './ports.js'

export const floatTypes = ['float32', 'float64', 'float16'] as const
export type FloatType = (typeof floatTypes)[number]
/** The types in messages. */
export const floatsText = wordList(floatTypes)

export function isFloat(type: string | null): type is FloatType {
  return (floatTypes as readonly (string | null)[]).includes(type)
}

/** The type of a port that has one of them; float32 for any other. */
export function floatTypeOf(ports: readonly Port[], name: string): FloatType {
  const type = portNamed(ports, name)?.dtype ?? null
  return isFloat(type) ? type : 'float32'
}

/** Whole numbers, as exporters of data frames have them. */
export const integerTypes = ['int64', 'int32'] as const
export type IntegerType = (typeof integerTypes)[number]

/** float32 is passed as it is: the tensor has the memory of `values`. */
export function floatTensor(type: FloatType, values: Float32Array, dims: readonly number[]): ort.Tensor {
  switch (type) {
    case 'float32':
      return new ort.Tensor('float32', values, dims)
    case 'float64':
      return new ort.Tensor('float64', new Float64Array(values), dims)
    case 'float16':
      return new ort.Tensor('float16', halvesOf(values), dims)
  }
}

export function numberTensor(
  type: FloatType | IntegerType,
  values: Float32Array,
  dims: readonly number[],
): ort.Tensor {
  return isFloat(type) ? floatTensor(type, values, dims) : integerTensor(type, values, dims)
}

/** Fractions are cut off, as ONNX's Cast does. Throws an Error for a missing value. */
function integerTensor(type: IntegerType, values: Float32Array, dims: readonly number[]): ort.Tensor {
  if (values.some(Number.isNaN))
    throw new Error(`an input of type ${type} cannot take a missing value: export it as float`)
  return type === 'int64'
    ? new ort.Tensor(
        'int64',
        BigInt64Array.from(values, (value) => BigInt(Math.trunc(value))),
        dims,
      )
    : new ort.Tensor('int32', Int32Array.from(values, clampedToInt32), dims)
}

function clampedToInt32(value: number): number {
  return Math.min(Math.max(value, -(2 ** 31)), 2 ** 31 - 1)
}

/** The values of an output; null if it is not a tensor of one of the types. */
export function floatsOf(value: ort.OnnxValue | undefined): Float32Array | Float64Array | null {
  const { type, data } = value ?? {}
  if (data instanceof Float32Array || data instanceof Float64Array) return data
  return type === 'float16' && data instanceof Uint16Array ? floatsOfHalves(data) : null
}

/** The values of an output in float32; null if it is not a tensor of one of the types. */
export function float32Of(value: ort.OnnxValue | undefined): Float32Array | null {
  const values = floatsOf(value)
  return values instanceof Float64Array ? new Float32Array(values) : values
}

/** The nearest half-precision numbers, ties to even: beyond 65,504 that is infinity. The bits of each, as ONNX Runtime takes them. */
export function halvesOf(values: Float32Array): Uint16Array {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length)
  return Uint16Array.from(bits, halfOf)
}

function halfOf(bits: number): number {
  const sign = (bits >>> 16) & 0x8000
  const magnitude = bits & 0x7fffffff
  if (magnitude > 0x7f800000) return sign | 0x7e00
  if (magnitude >= 0x477ff000) return sign | 0x7c00
  if (magnitude < 0x38800000) {
    // Below 2^-14 halves are multiples of 2^-24: the sum's last bit has that weight, and the sum is rounded to it.
    word[0] = magnitude
    const [value = 0] = float
    float[0] = value + 0.5
    const [sum = 0] = word
    return sign | (sum - bitsOfHalf)
  }
  // The exponent has another bias; 13 bits are rounded away.
  return sign | ((magnitude - 0x38000000 + 0xfff + ((magnitude >>> 13) & 1)) >>> 13)
}

const float = new Float32Array(1)
/** The float32 of 0.5. */
const bitsOfHalf = 0x3f000000
const word = new Uint32Array(float.buffer)

function floatsOfHalves(halves: Uint16Array): Float32Array {
  return Float32Array.from(halves, floatOf)
}

function floatOf(half: number): number {
  const sign = half & 0x8000 ? -1 : 1
  const exponent = (half >>> 10) & 0x1f
  const fraction = half & 0x3ff
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : NaN
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25))
}
