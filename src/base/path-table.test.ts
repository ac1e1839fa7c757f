import { expect, test } from 'vitest'
import { PathTable } from './path-table.js'

const table = new PathTable(['/', '/a.json', '/b/{x}', '/b/{x}/c/{y}'].map((path) => [path, path] as const))

test('a path without names is found as it is, and a dot is no wildcard', () => {
  expect(table.find('/a.json')).toEqual({ value: '/a.json', parameters: [] })
  for (const path of ['/aXjson', '/a.json/', '/A.json', '', '//']) expect(table.find(path), path).toBeNull()
})

test('a name stands for one segment, which may be empty and is not decoded', () => {
  expect(table.find('/b/%2F/c/')).toEqual({ value: '/b/{x}/c/{y}', parameters: ['%2F', ''] })
  expect(table.find('/b/')).toEqual({ value: '/b/{x}', parameters: [''] })
  expect(table.find('/b/1/c')).toBeNull()
})
