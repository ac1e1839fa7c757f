/** A replay through the processes of a real encoder that does not survive one text. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { isDeadlyHere, writeDeadlyExample } from '../../test/helpers/deadly-example.js'
import { FakeImageEncoder } from '../../test/helpers/encoding-model.js'
import { temporaryModelsDir } from '../../test/helpers/model-packages.js'
import { loadModel, type TextEncoder } from '../model/index.js'
import { CarefulReplay, type LeftOut } from './careful-replay.js'

const record = (postNo: number, title: string): Uint8Array =>
  Buffer.from(JSON.stringify({ gall_id: 'g', post_no: postNo, title }))

describe.runIf(isDeadlyHere)('a text that ends the process of its encoder', () => {
  test('costs no other its vector, and is not tried again', async () => {
    const modelsDir = temporaryModelsDir()
    writeDeadlyExample(modelsDir)
    const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
    const model = await loadModel({ modelsDir, version: 'deadly', executionProviders: ['cpu'], log })
    onTestFinished(() => model.close())
    const reported: LeftOut[] = []
    const careful = new CarefulReplay((left) => reported.push(left))
    const titles = ['글', '하나', '오늘', '둘']
    const records = titles.map((title, postNo) => record(postNo, title))
    const first = await careful.texts(model.text as TextEncoder, records, 60_000)
    expect([...first.encoded]).toEqual([1, 1, 0, 1])
    expect(reported).toMatchObject([{ what: 'text', gallId: 'g', postNo: 2 }])
    const pid = model.processes.find(({ role }) => role === 'text')?.pid
    const second = await careful.texts(model.text as TextEncoder, records, 60_000)
    expect([...second.encoded]).toEqual([1, 1, 0, 1])
    expect(model.processes.find(({ role }) => role === 'text')?.pid).toBe(pid)
    expect(reported).toHaveLength(1)
  })
})

describe('pictures', () => {
  const pictures = (...greys: readonly number[]) =>
    greys.map((grey, postNo) => ({
      ...{ gallId: 'g', postNo },
      sha256: new Uint8Array(32).fill(grey),
      bytes: Uint8Array.of(grey),
    }))

  test('are encoded but for those that end their encoder', async () => {
    const reported: LeftOut[] = []
    const careful = new CarefulReplay((left) => reported.push(left))
    const encoder = new FakeImageEncoder('e')
    encoder.poison.add(4).add(6)
    const greys = [...Array.from({ length: 20 }, (_, grey) => grey), 4]
    const { encoded } = await careful.pictures(encoder, pictures(...greys))
    expect([...encoded]).toEqual(greys.map((grey) => (grey === 4 || grey === 6 ? 0 : 1)))
    expect(reported.map(({ what, postNo }) => [what, postNo])).toEqual([
      ['image', 4],
      ['image', 6],
    ])
  })

  test('are not left out when the encoder ends on the control image too', async () => {
    const reported: LeftOut[] = []
    const careful = new CarefulReplay((left) => reported.push(left))
    const encoder = new FakeImageEncoder('e')
    const greys = Array.from({ length: 20 }, (_, grey) => grey)
    // A JPEG begins with 255.
    for (const grey of [...greys, 255]) encoder.poison.add(grey)
    await expect(careful.pictures(encoder, pictures(...greys))).rejects.toThrow('told to fail')
    expect(reported).toEqual([])
  })
})
