/**
 * The steps of the encoders for single inputs: what the programs of the service compute.
 */
import { readFileSync } from 'node:fs'
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { imagePlan, textPlan } from '../../test/helpers/encoder-plans.js'
import { modelsDir } from '../../test/helpers/model-packages.js'
import { silentLog } from '../base/index.js'
import { encodeImages, encodeTexts } from './encodings.js'
import { openImageProgram } from './image/image-program.js'
import { Preprocessor } from './image/preprocess.js'
import { readPackage } from './package/read-package.js'
import { openTextProgram } from './text/text-program.js'
import { openTokenizer } from './text/tokenizer.js'

const options = { modelsDir, version: 'example-1', executionProviders: ['cpu'], log: silentLog }

test('a text has the filled template, its tokens and the vector of the text encoder', async () => {
  const records = [
    { title: '오늘 진짜 대박', body_html: '<p>사진 &amp; 글</p>' },
    { title: 'ok', body_html: '<p>사진 &amp; 글</p>' },
  ].map((record) => Buffer.from(JSON.stringify(record)))
  const encodings = await encodeTexts(await readPackage(modelsDir, 'example-1'), records, options)
  const plan = textPlan()
  const program = await openTextProgram(plan, silentLog)
  const tokenizer = await openTokenizer(readFileSync(plan.tokenizer.file), plan)
  expect(encodings.map(({ tokenized }) => tokenized?.text)).toEqual([
    '오늘 진짜 대박\n사진 & 글',
    'ok\n사진 & 글',
  ])
  for (const [index, { tokenized, vector }] of encodings.entries()) {
    expect(tokenized?.tokenIds).toEqual((await tokenizer.encode(tokenized?.text ?? '')).ids)
    const alone = await program.run({ items: [records[index] as Buffer], budgetMs: null })
    expect(vector).toEqual(alone.vectors)
  }
})

test('an image has the statistics of its tensor and the vector of the image encoder', async () => {
  const create = { width: 150, height: 90, channels: 3, background: { r: 250, g: 20, b: 90 } } as const
  const jpeg = await sharp({ create }).jpeg().toBuffer()
  const broken = jpeg.subarray(0, 100)
  const modelPackage = await readPackage(modelsDir, 'example-1')
  const [encoding, failed] = await encodeImages(modelPackage, [jpeg, broken], options)
  const plan = imagePlan()
  const program = await openImageProgram(plan, silentLog)
  expect(encoding?.vector).toEqual((await program.run({ items: [jpeg], budgetMs: null })).vectors)
  const red = (await new Preprocessor(plan).tensorOf(jpeg))[0]!
  expect(encoding?.pixels?.channels.map(({ channel }) => channel)).toEqual(['red', 'green', 'blue'])
  expect(encoding?.pixels?.channels[0]?.mean).toBeCloseTo(red, 5)
  expect(failed).toMatchObject({ pixels: null, vector: null })
  expect(failed?.problem).toMatch(/^it cannot be read: /)
})

test('a package without such an encoder is an error', async () => {
  const modelPackage = await readPackage(modelsDir, 'transport-test-1')
  await expect(encodeTexts(modelPackage, [Buffer.from('{}')], options)).rejects.toThrow(
    'model transport-test-1 has no text encoder',
  )
})
