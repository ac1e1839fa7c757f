/** Paths of operations, and assertions. */
import { expect, test } from 'vitest'
import { assert, AssertionError } from './assert.js'
import { operations, pathOf } from './operations.js'

test('the parameters of a path are percent-encoded', () => {
  const path = pathOf('putImage', { gall_id: '야구/1', post_no: 2 ** 40, NN: 0 })
  expect(path).toBe('/v1/images/%EC%95%BC%EA%B5%AC%2F1/1099511627776/0')
  expect(pathOf('getHealth', {})).toBe(operations.getHealth.path)
})

test('a broken invariant is an error that states it', () => {
  expect(() => assert(true, 'slots rise')).not.toThrow()
  expect(() => assert(false, 'slots rise')).toThrow(new AssertionError('broken invariant: slots rise'))
})
