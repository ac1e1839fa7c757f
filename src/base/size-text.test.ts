import { expect, test } from 'vitest'
import { sizeText } from './size-text.js'

test.each([
  [0, '0 B'],
  [910, '910 B'],
  [1023, '1023 B'],
  [1024, '1.0 KiB'],
  [4300, '4.2 KiB'],
  [10_240, '10 KiB'],
  [51_200, '50 KiB'],
  [1024 ** 2 - 1, '1.0 MiB'],
  [37.4 * 1024 ** 2, '37 MiB'],
  [3.5 * 1024 ** 3, '3.5 GiB'],
  [5000 * 1024 ** 4, '5000 TiB'],
])('%d bytes are %s', (bytes, text) => expect(sizeText(bytes)).toBe(text))
