/**
 * Memory that two processes share, mapped and without the addon. Two objects over one file stand for the processes;
 * real ones are in loaded-model.test.ts.
 */
import { describe, expect, onTestFinished, test } from 'vitest'
import { SharedMemory } from './shared-memory.js'

describe.each<[string, undefined | null]>([
  ['mapped', undefined],
  ['without the addon', null],
])('shared memory, %s', (_, mapping) => {
  function sides(): readonly [SharedMemory, SharedMemory] {
    const one = SharedMemory.create(mapping)
    onTestFinished(() => one.close())
    return [one, new SharedMemory(one.descriptor, mapping)]
  }

  test('what one side writes and publishes, the other reads after it has fetched it, and back', () => {
    const [one, other] = sides()
    new Float32Array(one.reserve(8000)).fill(0.5)
    one.publish(0, 8000)
    const theirs = new Float32Array(other.reserve(8000), 0, 2000)
    other.fetch(0, 8000)
    expect(theirs.every((value) => value === 0.5)).toBe(true)
    theirs[7] = 8
    other.publish(28, 32)
    one.fetch(28, 32)
    expect(new Float32Array(one.reserve(8000))[7]).toBe(8)
  })

  test('it grows to at least twice its size, for both sides, and keeps a buffer that is large enough', () => {
    const [one, other] = sides()
    const small = one.reserve(100_000)
    expect(one.reserve(99_999)).toBe(small)
    expect(one.reserve(100_001).byteLength).toBe(200_000)
    expect(other.reserve(1).byteLength).toBe(200_000)
  })

  test('memory that nobody has written holds zeros', () => {
    const [one, other] = sides()
    one.reserve(100_000)
    const theirs = new Uint8Array(other.reserve(100_000))
    other.fetch(0, 100_000)
    expect(theirs.every((value) => value === 0)).toBe(true)
  })
})
