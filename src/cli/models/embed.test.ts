/**
 * `understudy models embed` as a process: what it prints, and what it refuses.
 */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { addVersion, changeManifest, models, modelsDir } from '../../../test/helpers/models-command.js'
import { silentLog } from '../../base/index.js'
import { normaliseImage } from '../../images/index.js'
import { encodeImages, encodeTexts, readPackage } from '../../model/index.js'

test('prints the numbers that the service computes, of an image those of the copy that it stores', async () => {
  addVersion('example', 'example-1')
  const create = { width: 1500, height: 900, channels: 3, background: '#fa145a' } as const
  const jpeg = await sharp({ create }).jpeg().toBuffer()
  const file = join(modelsDir, '..', 'photo.jpg')
  writeFileSync(file, jpeg)
  const { stdout } = models(
    'embed',
    'example',
    '--json',
    '--text',
    '글',
    '--body',
    '<p>둘</p>',
    '--image',
    file,
  )
  const options = { modelsDir, version: 'example', executionProviders: ['cpu'], log: silentLog }
  const modelPackage = await readPackage(modelsDir, 'example')
  const record = Buffer.from(JSON.stringify({ title: '글', body_html: '<p>둘</p>' }))
  const [text] = await encodeTexts(modelPackage, [record], options)
  const [image] = await encodeImages(modelPackage, [(await normaliseImage(jpeg)).normalised], options)
  expect(JSON.parse(stdout)).toEqual({
    version: 'example',
    texts: [
      {
        text: '글\n둘',
        token_ids: text?.tokenized?.tokenIds,
        vector: [...(text?.vector ?? [])],
        problem: null,
      },
    ],
    images: [
      {
        file,
        width: 1500,
        height: 900,
        pixels: image?.pixels,
        vector: [...(image?.vector ?? [])],
        problem: null,
      },
    ],
  })
})

test('prints one block for each input as text, with everything', async () => {
  addVersion('example', 'example-1')
  const file = join(modelsDir, '..', 'photo.jpg')
  writeFileSync(
    file,
    await sharp({ create: { width: 40, height: 30, channels: 3, background: '#808080' } })
      .jpeg()
      .toBuffer(),
  )
  const { stdout, status } = models('embed', 'example', '--text', '제목', '--image', file)
  expect(stdout).toMatch(
    /^text {6}"제목\\n"\ntokens {4}\d+: 2 [\d ]+\nvector {4}32 values, of length 1: -?\d/,
  )
  const vector = /^vector .*: ((?:\n? *[-\d.e]+)+) …$/m.exec(stdout)?.[1]?.trim().split(/\s+/)
  expect(vector).toHaveLength(8)
  const { texts } = JSON.parse(models('embed', 'example', '--text', '제목', '--json').stdout) as {
    texts: { vector: number[] }[]
  }
  expect(texts[0]?.vector).toHaveLength(32)
  texts[0]?.vector.slice(0, 8).forEach((value, at) => expect(Number(vector?.[at])).toBeCloseTo(value, 6))
  expect(stdout).toMatch(/\n\nimage {5}.*photo\.jpg, 40 × 30\ntensor {4}\[1, 3, 32, 32\]\nred {7}mean /)
  expect(status).toBe(0)
})

test('reads an encoder without a head, as no other command does', () => {
  addVersion('example', 'example-1')
  const embedded = () => models('embed', 'example', '--json', '--text', '글').stdout
  const vector = embedded()
  expect(vector).toContain('"token_ids"')
  for (const file of ['head.onnx', 'image', 'golden.json'])
    rmSync(join(modelsDir, 'example', file), { recursive: true })
  changeManifest('example', { head: undefined, image: undefined, golden: undefined })
  expect(embedded()).toBe(vector)
  expect(models('verify', 'example', '--json')).toMatchObject({
    status: 1,
    stdout: expect.stringContaining('manifest.json: head is required') as string,
  })
})

test('names what the service would refuse or not encode, and exits with 1', () => {
  addVersion('example', 'example-1')
  const file = join(modelsDir, '..', 'note.jpg')
  writeFileSync(file, 'no picture')
  expect(models('embed', 'example', '--image', file)).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^understudy: the service refuses .*note\.jpg: /) as string,
  })
  expect(models('embed', 'v1', '--text', '글')).toMatchObject({
    status: 1,
    stderr: 'understudy: model v1 has no text encoder\n',
  })
  expect(models('embed', 'v1')).toMatchObject({
    status: 2,
    stderr: 'understudy: give at least one --text or --image\n',
  })
})
