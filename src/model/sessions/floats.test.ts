/**
 * Half precision: against a search for the nearest of all numbers that it has.
 */
import * as ort from 'onnxruntime-node'
import { describe, expect, test } from 'vitest'
import { float32Of, floatsOf, floatTensor, halvesOf } from './floats.js'

const signBit = 0x8000
const infinity = 0x7c00
const halves = Uint16Array.from({ length: 2 ** 16 }, (_, bits) => bits)
const values = valuesOf(halves)

function valuesOf(bits: Uint16Array): Float32Array {
  const floats = float32Of(new ort.Tensor('float16', bits, [bits.length]))
  if (floats === null) throw new Error('a tensor of halves has no values')
  return floats
}

describe('half precision', () => {
  test('has the numbers that IEEE 754 gives it', () => {
    const known = new Map([
      [0x0000, 0],
      [0x0001, 2 ** -24],
      [0x03ff, 1023 * 2 ** -24],
      [0x0400, 2 ** -14],
      [0x3555, 0.333251953125],
      [0x3c00, 1],
      [0xc000, -2],
      [0x7bff, 65504],
      [infinity, Infinity],
      [0x7e00, NaN],
    ])
    for (const [bits, value] of known) expect(values[bits]).toBe(value)
    expect(Object.is(values[signBit], -0)).toBe(true)
  })

  test('keeps each of its numbers', () => {
    const isNumber = (value: number): boolean => !Number.isNaN(value)
    expect(halvesOf(values.filter(isNumber))).toEqual(halves.filter((bits) => isNumber(values[bits] ?? NaN)))
    expect(valuesOf(halvesOf(Float32Array.of(NaN)))).toEqual(Float32Array.of(NaN))
  })

  test('rounds a number between two of them to the nearer one, and in the middle to the even one', () => {
    // Both neighbours, the middle, and the float32 numbers on both sides of the middle, exact below 65,504.
    for (let bits = 0; bits + 1 < infinity; bits++) {
      const [low, high] = [values[bits] ?? NaN, values[bits + 1] ?? NaN]
      const middle = (low + high) / 2
      const even = bits % 2 === 0 ? bits : bits + 1
      const tenth = (high - low) / 10
      const between = Float32Array.of(middle, middle - tenth, middle + tenth, -middle, -middle - tenth)
      expect([...halvesOf(between)]).toEqual([even, bits, bits + 1, signBit + even, signBit + bits + 1])
    }
  })

  test('becomes infinite from 65,520 on', () => {
    const large = Float32Array.of(65519, 65520, 1e30, -1e30, Infinity)
    expect([...halvesOf(large)]).toEqual([0x7bff, infinity, infinity, signBit + infinity, infinity])
  })

  test('is converted from the part of a buffer that the values have', () => {
    expect([...halvesOf(Float32Array.of(7, 1, 2).subarray(1))]).toEqual([0x3c00, 0x4000])
  })
})

test('a float32 tensor has the memory of its values: a batch is not copied', () => {
  const matrix = Float32Array.of(1, 2)
  expect(floatTensor('float32', matrix, [1, 2]).data).toBe(matrix)
  expect(floatsOf(new ort.Tensor('float32', matrix, [2]))).toBe(matrix)
})

test('integers are no floats', () => {
  expect(floatsOf(new ort.Tensor('uint16', Uint16Array.of(1), [1]))).toBeNull()
  expect(floatsOf(undefined)).toBeNull()
})
