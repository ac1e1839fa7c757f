/** The files that name the versions in use. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryModelsDir } from '../../../test/helpers/model-packages.js'
import { shadowVersions } from './selection.js'

function shadowsIn(text: string): Promise<string[]> {
  const modelsDir = temporaryModelsDir()
  writeFileSync(join(modelsDir, 'SHADOW'), text)
  return shadowVersions(modelsDir)
}

test('SHADOW names up to eight versions, one per line, in its order', async () => {
  expect(await shadowVersions(temporaryModelsDir())).toEqual([])
  const versions = Array.from({ length: 9 }, (_, index) => `v-${9 - index}`)
  expect(await shadowsIn(` ${versions.slice(0, 8).join(' \r\n\n')}\n`)).toEqual(versions.slice(0, 8))
  await expect(shadowsIn(versions.join('\n'))).rejects.toThrow('at most 8 distinct model versions')
})

test.each(['v-1\nv-1', 'v-1\nv-2\nv-1', 'v 1', '../v-1'])('SHADOW with %j is refused', async (text) => {
  await expect(shadowsIn(text)).rejects.toThrow('SHADOW must contain')
})
