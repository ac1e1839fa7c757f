/** Texts and images that end the process of their encoder: each is found and quarantined, and no other is lost. */
import sharp from 'sharp'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { silentLog } from '../../base/index.js'
import { bytesOf, candidate, cycleBody, cycleMs, reading } from '../../../test/helpers/bodies.js'
import { canCrash, writeCrashingExample, writeErringExample } from '../../../test/helpers/crashing-example.js'
import { FakeImageEncoder, FakeTextEncoder } from '../../../test/helpers/encoding-model.js'
import { createMemoryContents, memoryStore, type MemoryContents } from '../../../test/helpers/memory-store.js'
import { temporaryModelsDir } from '../../../test/helpers/model-packages.js'
import '../../../test/helpers/poisoned-memory.js'
import { ServiceError, type CycleRequest, type CycleResponse } from '../../contract/index.js'
import { loadModel, ModelDownError, ModelError, type LoadedModel, type Vectors } from '../../model/index.js'
import { CycleService } from '../service.js'
import { StageClock } from '../stage-clock.js'
import { ImageCache } from './image-cache.js'
import { encodingChannel, imageBatchEncoder, textBatchEncoder } from './batch-encoder.js'
import { Quarantine } from './quarantine.js'
import { RequestBody } from '../intake/index.js'

const patience = { timeout: 60_000, interval: 20 }
const unencodable = 'text that the encoder cannot encode, scored without it'

describe.runIf(canCrash)('a text that crashes its encoder each time', () => {
  let modelsDir: string
  let contents: MemoryContents
  let model: LoadedModel
  let service: CycleService
  let quarantined: object[]
  /** How often a model had to be adopted until it served. */
  let adoptCount: number

  beforeEach(async () => {
    modelsDir = temporaryModelsDir()
    writeCrashingExample(modelsDir)
    contents = createMemoryContents()
    quarantined = []
    service = await open()
  })

  async function open(): Promise<CycleService> {
    const log = {
      ...silentLog,
      error: (fields: object, message: string) => {
        if (message.startsWith('text quarantined')) quarantined.push(fields)
      },
    }
    model = await loadModel({ modelsDir, version: 'crashing', executionProviders: ['cpu'], log })
    onTestFinished(() => model.close())
    const opened = await CycleService.open({
      store: memoryStore({ contents }),
      model: () => model,
      log,
      clock: () => cycleMs(1000),
      limits: () => ({ clockSkewMs: 2000, cyclesWaitingMax: 4 }),
      textEncodeMsMax: 30_000,
      initialWeights: { version: 'initial', weights: { views: 1, comments: 1, up: 1, downvote_share: 0 } },
    })
    await adopted(opened)
    return opened
  }

  /** Tries again when the encoder has failed, as the server does. */
  async function adopted(by: CycleService): Promise<void> {
    for (adoptCount = 1; ; adoptCount++) {
      try {
        await by.models.adopt(model, null, () => undefined)
        return
      } catch (error) {
        if (!(error instanceof ModelError)) throw error
        await vi.waitUntil(() => textPid() !== undefined, patience)
      }
    }
  }

  async function submit(body: CycleRequest): Promise<{ response: CycleResponse; refusalCount: number }> {
    for (let refusalCount = 0; ; refusalCount++) {
      try {
        const bytes = await service.intake.submit(
          new RequestBody(bytesOf(body)),
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

  test('is quarantined within the budget of its cycle, counted and logged once, and the others are encoded', async () => {
    const first = await submit(cycle(0, { 1: '글', 2: '오늘', 3: '하나' }, [1, 2, 3]))
    expect(first.refusalCount).toBe(0)
    expect(first.response.warnings).toContain(`${unencodable} (1): g/2`)
    expect(contents.embeddings.size).toBe(2)
    expect(quarantined).toMatchObject([{ gall_id: 'g', post_no: 2 }])
    const pid = textPid()
    const second = await submit(cycle(1, { 4: '둘' }, [1, 2, 3, 4]))
    expect(second).toMatchObject({ refusalCount: 0 })
    expect(second.response.warnings).toContain(`${unencodable} (1): g/2`)
    await submit(cycle(2, {}, [1, 2, 3, 4]))
    expect(contents.embeddings.size).toBe(3)
    // It was not tried again.
    expect(textPid()).toBe(pid)
    expect(quarantined).toHaveLength(1)
  })

  test('does not prevent a restart of the service, nor the encoding of the others after it', async () => {
    await submit(cycle(0, { 1: '글', 2: '오늘', 3: '하나' }, [1, 2, 3]))
    await service.close()
    for (const key of contents.embeddings.getKeys({})) contents.embeddings.remove(key)
    service = await open()
    expect(adoptCount).toBe(1)
    expect(contents.embeddings.size).toBe(2)
    expect(quarantined).toHaveLength(2)
    const { refusalCount, response } = await submit(cycle(1, {}, [1, 2, 3]))
    expect(refusalCount).toBe(0)
    expect(response.warnings).toContain(`${unencodable} (1): g/2`)
  })
})

describe('an encoder whose graph returns an error', () => {
  test.each([
    ['text', 79],
    ['image', 20],
  ] as const)(
    'for one %s encodes all others, names it once, and prints nothing else',
    async (kind, count) => {
      const modelsDir = temporaryModelsDir()
      writeErringExample(modelsDir)
      const lines: string[] = []
      const warn = (_: object, message: string): void => void lines.push(message)
      const log = { ...silentLog, warn, error: warn }
      const model = await loadModel({ modelsDir, version: 'erring', executionProviders: ['cpu'], log })
      onTestFinished(() => model.close())
      const pids = model.processes.map(({ pid }) => pid)
      const items =
        kind === 'text'
          ? Array.from({ length: count }, (_, i) => bytesOf({ title: i === 40 ? '오늘' : `글 ${i}` }))
          : await Promise.all(Array.from({ length: count }, (_, i) => square(i === 11 ? 255 : 5 * i)))
      const bad = kind === 'text' ? 40 : 11
      const encoder =
        kind === 'text'
          ? textBatchEncoder(model.text ?? expect.fail())
          : imageBatchEncoder(model.image ?? expect.fail())
      const quarantine = new Quarantine()
      const reported: [number, string][] = []
      const onQuarantined = (row: number, { message }: Error): void => void reported.push([row, message])
      for (let time = 0; time < 3; time++) {
        const { encoded, quarantined } = await quarantine.encodeAll(encoder, items, { onQuarantined })
        expect([...encoded]).toEqual(items.map((_, row) => (row === bad ? 0 : 1)))
        expect([...quarantined]).toEqual([bad])
      }
      expect(reported).toEqual([[bad, expect.stringMatching(/Gather.*out of data bounds/)]])
      // What the processes print arrives before they have ended.
      expect(model.processes.map(({ pid }) => pid)).toEqual(pids)
      await model.close()
      expect(lines).toEqual([])
    },
  )

  function square(grey: number): Promise<Uint8Array> {
    return sharp({
      create: { width: 32, height: 32, channels: 3, background: { r: grey, g: grey, b: grey } },
    })
      .jpeg()
      .toBuffer()
  }
})

describe('a quarantine', () => {
  const titles = (count: number): string[] => Array.from({ length: count }, (_, i) => `title ${i}`)
  const records = (from: readonly string[]): Uint8Array[] =>
    from.map((title) => Buffer.from(JSON.stringify({ title })))

  /** Encodes as a cycle does, with as much time as needed unless `budgetMs` is given; or as the background does. */
  async function encode(
    quarantine: Quarantine,
    encoder: FakeTextEncoder,
    from: readonly string[],
    how: 'background' | { readonly budgetMs: number } = { budgetMs: 60_000 },
  ) {
    const quarantined: string[] = []
    const onQuarantined = (row: number): void => void quarantined.push(from[row]!)
    const batch = textBatchEncoder(encoder)
    const { encoded } =
      how === 'background'
        ? await quarantine.encodeAll(batch, records(from), { onQuarantined })
        : await quarantine.encode(batch, records(from), { ...how, onQuarantined })
    return { quarantined, encoded: [...encoded] }
  }

  test('ends the process four times for an item of a full batch that always crashes it', async () => {
    const encoder = new FakeTextEncoder('e')
    encoder.crashing.add('title 77')
    const calls = vi.spyOn(encoder, 'encode')
    const { quarantined } = await encode(new Quarantine(), encoder, titles(200), 'background')
    expect(quarantined).toEqual(['title 77'])
    const ends = await Promise.allSettled(calls.mock.results.map(({ value }) => value as Promise<Vectors>))
    const crashes = ends.filter((end) => end.status === 'rejected' && !(end.reason instanceof ModelDownError))
    expect(crashes).toHaveLength(4)
  })

  test('finds each bad item of a batch, and encodes all others', async () => {
    const quarantine = new Quarantine()
    const encoder = new FakeTextEncoder('e')
    const all = titles(40)
    encoder.crashing.add('title 7').add('title 8').add('title 31')
    const { quarantined, encoded } = await encode(quarantine, encoder, all)
    expect(quarantined).toEqual(['title 7', 'title 8', 'title 31'])
    expect(encoded).toEqual(all.map((title) => (quarantined.includes(title) ? 0 : 1)))
  })

  test('publishes the time of each call of the encoder, and whether it failed', async () => {
    const published: unknown[] = []
    const listener = (message: unknown): void => void published.push(message)
    encodingChannel.subscribe(listener)
    const encoder = new FakeTextEncoder('e')
    encoder.crashing.add('bad')
    await encode(new Quarantine(), encoder, ['good'])
    await encode(new Quarantine(), encoder, ['bad'])
    encodingChannel.unsubscribe(listener)
    const ms = expect.any(Number) as number
    expect(published[0]).toEqual({ kind: 'text', ms, hasFailed: false })
    expect(published[1]).toEqual({ kind: 'text', ms, hasFailed: true })
  })

  test('does not try a quarantined item again, in whatever batch it comes', async () => {
    const quarantine = new Quarantine()
    const encoder = new FakeTextEncoder('e')
    encoder.crashing.add('bad')
    await encode(quarantine, encoder, ['bad'])
    const { callCount } = encoder
    expect((await encode(quarantine, encoder, ['bad'])).encoded).toEqual([0])
    expect(encoder.callCount).toBe(callCount)
    expect((await encode(quarantine, encoder, ['good', 'bad', 'bad'])).encoded).toEqual([1, 0, 0])
    expect(encoder.callCount).toBe(callCount + 1)
  })

  test('quarantines no item when the encoder fails on the control item too', async () => {
    const quarantine = new Quarantine()
    const encoder = new FakeTextEncoder('e')
    encoder.failing = true
    for (let i = 0; i < 4; i++)
      await expect(encode(quarantine, encoder, titles(3), 'background')).rejects.toThrow('fails on purpose')
    encoder.failing = false
    expect((await encode(quarantine, encoder, titles(3))).encoded).toEqual([1, 1, 1])
    expect(quarantine.count).toBe(0)
  })

  test('quarantines no item when the process is down', async () => {
    const quarantine = new Quarantine()
    let callCount = 0
    const down = Object.assign(new FakeTextEncoder('e'), {
      encode: (): Promise<Vectors> => {
        callCount++
        return Promise.reject(new ModelDownError('starting again'))
      },
    })
    for (let i = 0; i < 4; i++)
      await expect(encode(quarantine, down, titles(3))).rejects.toBeInstanceOf(ModelDownError)
    expect(callCount).toBe(4)
    const made = await quarantine.encodeAll(textBatchEncoder(down), records(titles(3)), {
      onQuarantined: () => expect.fail(),
      ended: () => callCount > 6,
    })
    expect([...made.encoded]).toEqual([0, 0, 0])
    expect(quarantine.count).toBe(0)
  })

  test('leaves a batch to the background when the process does not come back in the time of the cycle', async () => {
    const quarantine = new Quarantine()
    const encoder = new FakeTextEncoder('e')
    encoder.crashing.add('bad')
    const run = encoder.encode.bind(encoder)
    let isDown = false
    encoder.encode = async (batch) => {
      if (isDown) throw new ModelDownError('starting again')
      return run(batch).catch((error: unknown) => {
        isDown = true
        throw error
      })
    }
    const all = ['a', 'b', 'bad', 'c']
    await expect(encode(quarantine, encoder, all, { budgetMs: 1 })).rejects.toThrow('crashed')
    isDown = false
    encoder.encode = run
    // The process of the fake is down for one call.
    await run([]).catch(() => undefined)
    // The next cycle does not end the process again.
    const { encoded } = await encode(quarantine, encoder, [...all, 'new'])
    expect(encoded).toEqual([0, 0, 0, 0, 1])
    expect(await encode(quarantine, encoder, all, 'background')).toEqual({
      quarantined: ['bad'],
      encoded: [1, 1, 0, 1],
    })
    expect((await encode(quarantine, encoder, all)).encoded).toEqual([1, 1, 0, 1])
  })

  test('quarantines an item that the encoder reports at once, also within a cycle, and tries it no more', async () => {
    const quarantine = new Quarantine()
    const encoder = new FakeTextEncoder('e')
    encoder.erring.add('bad')
    const { quarantined, encoded } = await encode(quarantine, encoder, ['a', 'bad', 'b', 'bad'])
    expect([quarantined, encoded]).toEqual([['bad'], [1, 0, 1, 0]])
    expect(encoder.callCount).toBe(1)
    expect(await encode(quarantine, encoder, ['bad'], 'background')).toEqual({
      quarantined: [],
      encoded: [0],
    })
    expect(encoder.callCount).toBe(1)
  })

  test('does not quarantine an item that fails once', async () => {
    const quarantine = new Quarantine()
    const encoder = new FakeTextEncoder('e')
    encoder.crashing.add('unlucky')
    const run = encoder.encode.bind(encoder)
    encoder.encode = (batch) =>
      run(batch).catch((error: unknown) => {
        encoder.crashing.clear()
        throw error
      })
    expect(await encode(quarantine, encoder, ['unlucky'])).toEqual({ quarantined: [], encoded: [1] })
    expect(quarantine.count).toBe(0)
  })

  test('encodes images in batches of eight in the background, except those that crash the encoder', async () => {
    const quarantine = new Quarantine()
    const encoder = new FakeImageEncoder('e')
    encoder.crashing.add(4).add(6)
    const encode = vi.spyOn(encoder, 'encode')
    const greys = [...Array.from({ length: 20 }, (_, grey) => grey), 4]
    const quarantined: number[] = []
    const { encoded } = await quarantine.encodeAll(
      imageBatchEncoder(encoder),
      greys.map((grey) => Uint8Array.of(grey)),
      { onQuarantined: (row) => quarantined.push(greys[row]!) },
    )
    expect([...encoded]).toEqual(greys.map((grey) => (grey === 4 || grey === 6 ? 0 : 1)))
    expect(quarantined).toEqual([4, 6])
    expect(Math.max(...encode.mock.calls.map(([images]) => images.length))).toBe(8)
  })

  test('quarantines no image when the encoder crashes on the control image too', async () => {
    const encoder = new FakeImageEncoder('e')
    // A JPEG begins with 255.
    for (const grey of [1, 2, 3, 255]) encoder.crashing.add(grey)
    const images = [1, 2, 3].map((grey) => Uint8Array.of(grey))
    const onQuarantined = vi.fn()
    const encoding = new Quarantine().encodeAll(imageBatchEncoder(encoder), images, { onQuarantined })
    await expect(encoding).rejects.toThrow('fails on purpose')
    expect(onQuarantined).not.toHaveBeenCalled()
  })
})

describe('an image that crashes its encoder each time', () => {
  test('is quarantined, logged once, and not tried when another post has it', async () => {
    const store = memoryStore({ contents: createMemoryContents() })
    const encoder = new FakeImageEncoder('e')
    encoder.crashing.add(9)
    const quarantined: object[] = []
    const error = (fields: object, message: string): void => {
      if (message.startsWith('image quarantined')) quarantined.push(fields)
    }
    const parts = { quarantine: new Quarantine(), log: { ...silentLog, error } }
    const cache = new ImageCache(encoder, store, parts, 100)
    onTestFinished(() => cache.close())
    const put = async (postNo: number, grey: number): Promise<void> => {
      const key = { gallId: 'g', postNo, position: 1 }
      const sha256 = new Uint8Array(32).fill(grey)
      const normalised = Uint8Array.of(grey)
      await store.putImage(key, { sha256, uploadedBytes: 1, width: 1, height: 1, normalised })
      cache.add(key)
    }
    const encode = vi.spyOn(encoder, 'encode')
    await put(1, 9)
    await put(2, 7)
    await vi.waitUntil(() => quarantined.length === 1 && encoder.encodedImages.length === 1, patience)
    expect(quarantined).toMatchObject([{ gall_id: 'g', post_no: 1, position: 1 }])
    expect(encoder.encodedImages).toEqual([7])
    const { length } = encode.mock.calls
    await put(3, 9)
    await put(4, 8)
    await vi.waitUntil(() => encoder.encodedImages.length === 2, patience)
    expect(encode.mock.calls.length - length).toBe(1)
    expect(quarantined).toHaveLength(1)
  })
})

function cycle(index: number, entering: Record<number, string>, scored: readonly number[]): CycleRequest {
  return cycleBody(index, {
    candidates: Object.entries(entering).map(([post, title]) => candidate('g', Number(post), { title })),
    engagement: scored.map((post) => reading('g', post, cycleMs(index))),
  })
}
