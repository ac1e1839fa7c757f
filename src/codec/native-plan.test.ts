/** The native decoder's plan, and the choice between the codecs. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { cycleShape } from '../contract/index.js'
import { loadCodec, nativeCodec, referenceCodec } from './codec.js'
import type { NativeAddon } from './native-addon.js'
import { cyclePlan } from './native-plan.js'

test('the fuzzer works on the plan that the service uses', () => {
  const kept = new URL('../../test/fuzz/cycle-plan.json', import.meta.url)
  // After a change of the contract: write cyclePlan().json there.
  expect(JSON.parse(readFileSync(kept, 'utf8'))).toEqual(JSON.parse(cyclePlan().json))
})

test('every member of a cycle is in the plan, each column belongs to one member', () => {
  const plan = JSON.parse(cyclePlan().json) as { objects: { slice: number[]; members: { name: string; columns: number[] }[] }[] } // prettier-ignore
  const [root, ...lists] = plan.objects
  expect(root?.members.map(({ name }) => name)).toEqual(cycleShape.members.map(({ name }) => name))
  expect(lists).toHaveLength(4)
  const columns = plan.objects.flatMap(({ slice, members }) => [
    ...slice,
    ...members.flatMap((member) => member.columns),
  ])
  expect(columns.toSorted((a, b) => a - b)).toEqual(cyclePlan().columns.map((_, index) => index))
})

test('the reference codec is used when it is selected', () => {
  expect(loadCodec('reference').codec).toBe(referenceCodec)
})

test('an addon that rejects the plan is not used', () => {
  const Decoder = function (): never {
    throw new TypeError('the native decoder cannot follow this plan')
  }
  expect(() => nativeCodec({ Decoder } as unknown as NativeAddon)).toThrow('cannot follow')
})

test('with the setting auto, the service uses the native codec or logs in one line why not', () => {
  const { codec, note } = loadCodec('auto')
  if (codec.name === 'native') expect(note).toBe('native codec')
  else expect(note).toMatch(/^reference codec, slower: the native codec does not load: [^\n]+$/)
})
