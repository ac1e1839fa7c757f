/** Limits of address space: a server needs more than other commands, and each says how much. */
import { expect, test } from 'vitest'
import { checkAddressSpace } from './address-space.js'

const gibibyte = 1024 ** 3

test('a server refuses a limit below the map of its data file, other commands one below 32 GiB', () => {
  for (const command of ['serve', 'demo'])
    expect(() => checkAddressSpace(command, 1024 * gibibyte)).toThrow(
      `${command} reserves up to 1088 GiB of address space, and this process is limited to 1024.0 GiB`,
    )
  expect(() => checkAddressSpace('verify', 1.5 * gibibyte)).toThrow('limited to 1.5 GiB')
  expect(() => checkAddressSpace('verify', 32 * gibibyte)).not.toThrow()
  expect(() => checkAddressSpace('serve', 1088 * gibibyte)).not.toThrow()
  expect(() => checkAddressSpace('serve', Infinity)).not.toThrow()
})
