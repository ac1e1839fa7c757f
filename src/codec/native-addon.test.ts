/** The native decoder's table, and the codec of a process. */
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { buildOnce } from '../../test/helpers/build-once.js'
import { projectDir } from '../../test/helpers/project.js'
import { nativeCodec } from './codec.js'
import { codecName, codecNote } from './loaded.js'
import { shapeHash, type NativeAddon } from './native-addon.js'

test('the table of the native decoder is what the contract says', () => {
  buildOnce()
  const { status, stderr } = spawnSync(process.execPath, ['scripts/decode-table.mjs', '--check'], {
    cwd: projectDir,
    encoding: 'utf8',
  })
  expect(status, stderr).toBe(0)
})

test('an addon that was generated from another contract is not used', () => {
  const Decoder = function (): void {}
  const addon = { Decoder, decodeColumns: [], columnOperations: [], shapeHash: `${shapeHash}0` }
  expect(() => nativeCodec(addon as unknown as NativeAddon)).toThrow('generated from another contract')
})

test('the codec of a process is the native one, or one line says why not', () => {
  if (codecName === 'native') expect(codecNote).toBe('native codec')
  else expect(codecNote).toMatch(/^reference codec, slower: the native codec does not load: [^\n]+$/)
})
