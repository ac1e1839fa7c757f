/** Paths of operations. */
import { expect, test } from 'vitest'
import { operations, pathOf } from './operations.js'

test('the parameters of a path are percent-encoded', () => {
  const path = pathOf('putImage', { gall_id: '야구/1', post_no: 2 ** 40, NN: 0 })
  expect(path).toBe('/v1/images/%EC%95%BC%EA%B5%AC%2F1/1099511627776/0')
  expect(pathOf('getHealth', {})).toBe(operations.getHealth.path)
})
