/** Texts and pictures that end the process of their encoder: no cycle is blocked for ever, and no other one is lost. */
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { bytesOf, candidate, cycleBody, cycleMs, reading } from '../../../test/helpers/bodies.js'
import { isDeadlyHere, writeDeadlyExample } from '../../../test/helpers/deadly-example.js'
import { FakeImageEncoder, FakeTextEncoder } from '../../../test/helpers/encoding-model.js'
import { temporaryModelsDir } from '../../../test/helpers/model-packages.js'
import { referenceCodec } from '../../codec/index.js'
import { ServiceError, type CycleRequest, type CycleResponse } from '../../contract/index.js'
import { loadModel, ModelDownError, ModelError, type LoadedModel, type Vectors } from '../../model/index.js'
import { createMemoryContents, createMemoryStore, type MemoryContents } from '../../store/index.js'
import { CycleService } from '../service.js'
import { StageClock } from '../stage-clock.js'
import { CarefulTexts } from './careful-texts.js'
import { ImageBook } from './image-book.js'
import { Poison } from './poison.js'

const patience = { timeout: 60_000, interval: 20 }
const notEncoded = 'text not encoded in time, scored without it'

describe.runIf(isDeadlyHere)('a text that ends the process of its encoder each time', () => {
  let modelsDir: string
  let contents: MemoryContents
  let model: LoadedModel
  let service: CycleService
  let told: object[]
  /** How often a model had to be adopted until it served. */
  let adoptCount: number

  beforeEach(async () => {
    modelsDir = temporaryModelsDir()
    writeDeadlyExample(modelsDir)
    contents = createMemoryContents()
    told = []
    service = await open()
  })

  async function open(): Promise<CycleService> {
    const log = {
      info: () => undefined,
      warn: () => undefined,
      error: (fields: object, message: string) => {
        if (message.startsWith('a text ends')) told.push(fields)
      },
    }
    model = await loadModel({ modelsDir, version: 'deadly', executionProviders: ['cpu'], log })
    onTestFinished(() => model.close())
    const opened = await CycleService.open({
      ...{ codec: referenceCodec, store: createMemoryStore({ contents }), model: () => model, log },
      clock: () => cycleMs(1000),
      limits: () => ({ clockSkewMs: 2000, cyclesWaitingMax: 4 }),
      textEncodeMsMax: 30_000,
      initialWeights: { version: 'initial', weights: { views: 1, comments: 1, up: 1, downvote_share: 0 } },
    })
    await adopted(opened)
    return opened
  }

  /** As the server does it: again, when the encoder has ended. */
  async function adopted(by: CycleService): Promise<void> {
    for (adoptCount = 1; ; adoptCount++) {
      try {
        await by.adopt(model, null, () => undefined)
        return
      } catch (error) {
        if (!(error instanceof ModelError)) throw error
        await vi.waitUntil(() => textPid() !== undefined, patience)
      }
    }
  }

  /** As the client does it: again and again until there is an answer. */
  async function answer(body: CycleRequest): Promise<{ response: CycleResponse; refusalCount: number }> {
    for (let refusalCount = 0; ; refusalCount++) {
      try {
        const bytes = await service.submit(
          { json: bytesOf(body), gzip: null },
          cycleMs(1000),
          new StageClock(0),
        )
        return { refusalCount, response: JSON.parse(Buffer.from(bytes).toString()) as CycleResponse }
      } catch (error) {
        if (!(error instanceof ServiceError) || error.status !== 503) throw error
        await vi.waitUntil(() => textPid() !== undefined, patience)
      }
    }
  }

  const textPid = (): number | undefined => model.processes.find(({ role }) => role === 'text')?.pid

  test('is left out after two tries, counted and named once, and the others of its cycle are read', async () => {
    const first = await answer(cycle(0, { 1: '글', 2: '오늘', 3: '하나' }, [1, 2, 3]))
    expect(first.refusalCount).toBe(2)
    expect(first.response.warnings).toContain(`${notEncoded} (1): g/2`)
    expect(contents.embeddings.size).toBe(2)
    expect(told).toMatchObject([{ gall_id: 'g', post_no: 2 }])
    const pid = textPid()
    const second = await answer(cycle(1, { 4: '둘' }, [1, 2, 3, 4]))
    expect(second).toMatchObject({ refusalCount: 0 })
    expect(second.response.warnings).toContain(`${notEncoded} (1): g/2`)
    await answer(cycle(2, {}, [1, 2, 3, 4]))
    expect(contents.embeddings.size).toBe(3)
    // It was not tried again.
    expect(textPid()).toBe(pid)
    expect(told).toHaveLength(1)
  })

  test('does not keep the service from starting again, nor the others from being read then', async () => {
    await answer(cycle(0, { 1: '글', 2: '오늘', 3: '하나' }, [1, 2, 3]))
    await service.close()
    contents.embeddings.clear()
    service = await open()
    expect(adoptCount).toBe(3)
    expect(contents.embeddings.size).toBe(2)
    expect(told).toHaveLength(2)
    const { refusalCount, response } = await answer(cycle(1, {}, [1, 2, 3]))
    expect(refusalCount).toBe(0)
    expect(response.warnings).toContain(`${notEncoded} (1): g/2`)
  })
})

describe('texts through an encoder that fails', () => {
  const records = ['one', 'two', 'three'].map((title) => Buffer.from(JSON.stringify({ title })))

  test('on every text, are no poison: it is the encoder that is to blame', async () => {
    const poison = new Poison()
    const careful = new CarefulTexts({ poison, log: { error: () => undefined } })
    const encoder = new FakeTextEncoder('e')
    encoder.failing = true
    for (let i = 0; i < 4; i++)
      await expect(careful.encode(encoder, records, 1000)).rejects.toThrow('told to fail')
    await expect(careful.encodeAtLeisure(encoder, records, 1000, () => false)).rejects.toThrow('told to fail')
    encoder.failing = false
    expect([...(await careful.encode(encoder, records, 1000)).encoded]).toEqual([1, 1, 1])
    expect(poison.isEmpty).toBe(true)
  })

  test('because it is down, are not suspected', async () => {
    const poison = new Poison()
    const careful = new CarefulTexts({ poison, log: { error: () => undefined } })
    const down = Object.assign(new FakeTextEncoder('e'), {
      encode: (): Promise<Vectors> => Promise.reject(new ModelDownError('starting again')),
    })
    for (let i = 0; i < 4; i++)
      await expect(careful.encode(down, records, 1000)).rejects.toBeInstanceOf(ModelError)
    expect(poison.isEmpty).toBe(true)
  })
})

describe('an image that ends the process of its encoder each time', () => {
  test('is given up after a few tries and named once, and is not tried when another post has it', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const store = createMemoryStore({ contents: createMemoryContents() })
    const encoder = new FakeImageEncoder('e')
    encoder.poison.add(9)
    const told: object[] = []
    const error = (fields: object, message: string): void => {
      if (message.startsWith('an image ends')) told.push(fields)
    }
    const book = new ImageBook(encoder, store, { poison: new Poison(), log: { error } })
    onTestFinished(() => book.close())
    const put = async (postNo: number, grey: number): Promise<void> => {
      const key = { gallId: 'g', postNo, position: 1 }
      const sha256 = new Uint8Array(32).fill(grey)
      const normalised = Uint8Array.of(grey)
      await store.putImage(key, { sha256, uploadedBytes: 1, width: 1, height: 1, normalised })
      book.add(key)
    }
    const encode = vi.spyOn(encoder, 'encode')
    await put(1, 9)
    await put(2, 7)
    while (told.length === 0) await vi.advanceTimersByTimeAsync(1000)
    expect(told).toMatchObject([{ gall_id: 'g', post_no: 1, position: 1 }])
    expect(encoder.pictures).toEqual([7])
    const { length } = encode.mock.calls
    await put(3, 9)
    await put(4, 8)
    while (encoder.pictures.length < 2) await vi.advanceTimersByTimeAsync(1000)
    expect(encode.mock.calls.length - length).toBe(1)
    expect(told).toHaveLength(1)
  })
})

function cycle(index: number, entering: Record<number, string>, scored: readonly number[]): CycleRequest {
  return cycleBody(index, {
    candidates: Object.entries(entering).map(([post, title]) => candidate('g', Number(post), { title })),
    engagement: scored.map((post) => reading('g', post, cycleMs(index))),
  })
}
