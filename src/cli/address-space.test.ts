/** Address-space limits: a server needs more than other commands, and the error states both sizes. */
import { expect, test } from 'vitest'
import { checkAddressSpace } from './address-space.js'

const gibibyte = 1024 ** 3

test('serve and demo refuse a limit below the map size of the data file, other commands one below 32 GiB', () => {
  for (const command of ['serve', 'demo'])
    expect(() => checkAddressSpace(command, 1024 * gibibyte)).toThrow(
      `${command} reserves up to 1088 GiB of address space, and this process is limited to 1024.0 GiB`,
    )
  expect(() => checkAddressSpace('verify', 1.5 * gibibyte)).toThrow('limited to 1.5 GiB')
  expect(() => checkAddressSpace('verify', 32 * gibibyte)).not.toThrow()
  expect(() => checkAddressSpace('serve', 1088 * gibibyte)).not.toThrow()
  expect(() => checkAddressSpace('serve', Infinity)).not.toThrow()
})
