/** The native decoder's table, and the choice between the codecs. */
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { buildOnce } from '../../test/helpers/build-once.js'
import { projectDir } from '../../test/helpers/project.js'
import { loadCodec, nativeCodec, referenceCodec } from './codec.js'
import { shapeHash, type NativeAddon } from './native-addon.js'

test('the table of the native decoder is what the contract says', () => {
  buildOnce()
  const { status, stderr } = spawnSync(process.execPath, ['scripts/decode-table.mjs', '--check'], {
    cwd: projectDir,
    encoding: 'utf8',
  })
  expect(status, stderr).toBe(0)
})

test('the reference codec is used when it is selected', () => {
  expect(loadCodec('reference').codec).toBe(referenceCodec)
})

test('an addon that was generated from another contract is not used', () => {
  const Decoder = function (): void {}
  const addon = { Decoder, decodeColumns: [], columnOperations: [], shapeHash: `${shapeHash}0` }
  expect(() => nativeCodec(addon as unknown as NativeAddon)).toThrow('generated from another contract')
})

test('with the setting auto, the service uses the native codec or logs in one line why not', () => {
  const { codec, note } = loadCodec('auto')
  if (codec.name === 'native') expect(note).toBe('native codec')
  else expect(note).toMatch(/^reference codec, slower: the native codec does not load: [^\n]+$/)
})
