/**
 * ONNX files read by hand, against ONNX Runtime where it can read them too.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import * as ort from 'onnxruntime-node'
import { describe, expect, test } from 'vitest'
import { modelsDir, sigmoidGraph, smallGraph } from '../../../test/helpers/model-packages.js'
import { ModelError } from '../model.js'
import { portText, readOnnx } from './index.js'

const shipped = readFileSync(join(modelsDir, 'transport-test-1', 'head.onnx'))

describe('an ONNX file', () => {
  test('tells its versions, its ports and its operators', () => {
    expect(readOnnx(shipped, 'head.onnx')).toEqual({
      irVersion: 8,
      producer: 'understudy',
      opsets: [{ domain: 'ai.onnx', version: 17 }],
      inputs: [{ name: 'features', kind: 'tensor', dtype: 'float32', shape: ['N', 64] }],
      outputs: [{ name: 'probs', kind: 'tensor', dtype: 'float32', shape: ['N', 4] }],
      operators: [
        { domain: 'ai.onnx', type: 'Gemm', count: 3 },
        { domain: 'ai.onnx', type: 'Relu', count: 2 },
        { domain: 'ai.onnx', type: 'Sigmoid', count: 1 },
      ],
      externalFiles: [],
    })
  })

  test('has the ports that ONNX Runtime sees', async () => {
    const graph = smallGraph({
      inputs: [
        { name: 'a', shape: ['N', 2] },
        { name: 'b', shape: [3, 2] },
      ],
      outputs: [{ name: 'c', shape: ['N', 3] }],
      operators: [
        { type: 'Transpose', inputs: ['b'], outputs: ['b.turned'] },
        { type: 'MatMul', inputs: ['a', 'b.turned'], outputs: ['c'] },
      ],
    })
    const session = await ort.InferenceSession.create(graph)
    const { inputs, outputs } = readOnnx(graph, 'graph')
    const seen = (ports: readonly ort.InferenceSession.ValueMetadata[]) =>
      ports.map((port) => ({
        name: port.name,
        ...(port.isTensor ? { dtype: port.type, shape: port.shape } : {}),
      }))
    const read = (ports: typeof inputs) => ports.map(({ name, dtype, shape }) => ({ name, dtype, shape }))
    expect(read(inputs)).toEqual(seen(session.inputMetadata))
    expect(read(outputs)).toEqual(seen(session.outputMetadata))
    await session.release()
  })

  test('does not count inputs that have a value in the file', () => {
    const graph = smallGraph({
      inputs: [
        { name: 'features', shape: ['N', 1] },
        { name: 'weight', shape: [1, 1] },
      ],
      constants: [{ name: 'weight', shape: [1, 1], values: Float32Array.of(2) }],
      operators: [{ type: 'MatMul', inputs: ['features', 'weight'], outputs: ['probs'] }],
    })
    expect(readOnnx(graph, 'graph').inputs.map(({ name }) => name)).toEqual(['features'])
  })

  test('names every operator set, and the operators of inner graphs and functions', () => {
    const inner = message([field(7, message([field(1, node('Add', ''))]))])
    const branch = message([field(1, 'then_branch'), field(6, message([field(1, node('Mul', ''))]))])
    const file = message([
      varintField(1, 10),
      field(2, 'lightgbm'),
      field(3, '4.1'),
      field(
        7,
        message([field(1, node('TreeEnsembleRegressor', 'ai.onnx.ml')), field(1, node('If', '', branch))]),
      ),
      field(8, message([field(1, 'ai.onnx.ml'), varintField(2, 3)])),
      field(8, message([varintField(2, 21)])),
      field(25, message([field(7, node('Sub', ''))])),
      field(99, inner),
    ])
    const { producer, opsets, operators } = readOnnx(file, 'file')
    expect(producer).toBe('lightgbm 4.1')
    expect(opsets).toEqual([
      { domain: 'ai.onnx.ml', version: 3 },
      { domain: 'ai.onnx', version: 21 },
    ])
    expect(operators.map(({ domain, type }) => `${domain} ${type}`)).toEqual([
      'ai.onnx.ml TreeEnsembleRegressor',
      'ai.onnx If',
      'ai.onnx Mul',
      'ai.onnx Sub',
    ])
  })

  test('names the files that hold its weights, wherever in the graph they are used', () => {
    const entry = (value: string) => message([field(1, 'location'), field(2, value)])
    const tensor = (value: string) => message([field(8, 'weight'), field(13, entry(value))])
    const attribute = message([field(1, 'value'), field(5, tensor('b.data'))])
    const file = message([
      varintField(1, 10),
      field(7, message([field(5, tensor('a.data')), field(1, node('Constant', '', attribute))])),
    ])
    expect(readOnnx(file, 'file').externalFiles).toEqual(['a.data', 'b.data'])
  })

  test.each([
    ['a sequence', 4, 'sequence'],
    ['a map', 5, 'map'],
    ['an optional', 9, 'optional'],
  ])('tells that an output is %s', (_, number, kind) => {
    const output = message([field(1, 'probabilities'), field(2, message([field(number, message([]))]))])
    const file = message([varintField(1, 8), field(7, message([field(12, output)]))])
    expect(readOnnx(file, 'file').outputs[0]).toMatchObject({ name: 'probabilities', kind })
  })
})

test.each([
  ['float32', ['N', 64], 'float32 [N, 64]'],
  ['float64', [null, 1], 'float64 [?, 1]'],
  ['int64', null, 'int64 [any rank]'],
] as const)('a port of %s with shape %j reads %s', (dtype, shape, text) => {
  expect(portText({ name: 'x', kind: 'tensor', dtype, shape })).toBe(text)
})

describe('bytes that are no ONNX file are refused by name', () => {
  test.each([
    ['nothing', Buffer.alloc(0)],
    ['text', Buffer.from('something else')],
    ['a length without its bytes', Buffer.from([0x3a, 0x7f])],
    ['a number without an end', Buffer.alloc(32, 0xff)],
  ])('%s', (_, bytes) => {
    expect(() => readOnnx(bytes, 'head.onnx')).toThrow(/^head\.onnx is no ONNX file: /)
    expect(() => readOnnx(bytes, 'head.onnx')).toThrow(ModelError)
  })

  test('whatever is done to a sound one, it is read or refused, and nothing else', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat({ max: sigmoidGraph.length - 1 }), fc.nat({ max: 255 })), { maxLength: 5 }),
        fc.nat({ max: sigmoidGraph.length }),
        (changes, length) => {
          const bytes = sigmoidGraph.slice(0, length)
          for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value
          try {
            readOnnx(bytes, 'file')
          } catch (error) {
            expect(error).toBeInstanceOf(ModelError)
          }
        },
      ),
      { numRuns: 2000 },
    )
  })

  test('graphs that lie too deep in each other', () => {
    let graph = message([])
    for (let depth = 0; depth < 40; depth++)
      graph = message([field(1, node('If', '', message([field(6, graph)])))])
    expect(() => readOnnx(message([varintField(1, 8), field(7, graph)]), 'deep')).toThrow(/too deep/)
  })
})

// A protobuf writer of the fewest lines: what is read is not written by the code that reads.

function message(fields: readonly Uint8Array[]): Buffer {
  return Buffer.concat(fields)
}

function field(number: number, content: string | Uint8Array): Buffer {
  const bytes = Buffer.from(content)
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes])
}

function varintField(number: number, value: number): Buffer {
  return Buffer.concat([varint(number * 8), varint(value)])
}

function varint(value: number): Buffer {
  return value < 128
    ? Buffer.of(value)
    : Buffer.concat([Buffer.of((value % 128) + 128), varint(Math.floor(value / 128))])
}

function node(type: string, domain: string, attribute?: Uint8Array): Buffer {
  return message([
    field(4, type),
    field(7, domain),
    ...(attribute === undefined ? [] : [field(5, attribute)]),
  ])
}
