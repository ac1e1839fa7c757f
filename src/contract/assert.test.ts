/** Assertions. */
import { expect, test } from 'vitest'
import { assert, AssertionError } from './assert.js'

test('a broken invariant is an error of its own class that states it', () => {
  expect(() => assert(true, 'slots rise')).not.toThrow()
  expect(() => assert(false, 'slots rise')).toThrow(AssertionError)
  expect(() => assert(false, 'slots rise')).toThrow('broken invariant: slots rise')
})
