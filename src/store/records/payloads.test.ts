/**
 * Bytes on disk. The hexadecimal texts are records of released layouts, which must stay readable. To change a layout,
 * raise its version and add a text; do not change existing ones.
 */
import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { viewOf } from '../../base/index.js'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cycleIdKey, imageKeyOf, imageNumbersOf, nameHash } from './keys.js'
import { openRecord, packHashedRecord, packRecord } from './envelope.js'
import * as records from './payloads.js'
import { bytesOf, cycleSample, imageSample, weightsSample } from '../../../test/helpers/store-samples.js'

const { cycleId, cycleAtMs, receivedAt, modelVersion, weightsVersion } = cycleSample(7)
const cycle = { cycleId, cycleAtMs, receivedAt, modelVersion, weightsVersion }
const hashes = {
  requestSha256: '7'.repeat(64),
  responseSha256: 'a'.repeat(64),
  weightsSha256: null,
  modelSha256: 'c'.repeat(64),
  hash: 'b'.repeat(64),
  expiries: [{ ended: 'responses', through: 7, hash: 'd'.repeat(64) } as const],
}
const request = { encoding: 'zstd', bytes: bytesOf(1, 2, 3), bodyBytes: 16_777_216 } as const
const { sha256, uploadedBytes, width, height } = imageSample(5)
const arrivedAtMs = 1_767_200_123_000
const identity = { sha256, uploadedBytes, width, height, arrivedAtMs, gallId: '야구\ud800' }
const outcome = { placementId: 'p-\ud800', record: bytesOf(123, 125), arrivedAtMs }
const weights = weightsSample('v1', 0.1)

const response = bytesOf(123, 125)
const responseSha256 = hash('sha256', response)

const golden = {
  cycle: joined(
    '010000002e3669397b226379636c655f6964223a2232303236303130315430303037222c226379636c655f61',
    '745f6d73223a313736373230323130303030302c2272656365697665645f6174223a22323032362d30312d30',
    '315430303a30303a30312e3233345a222c226d6f64656c5f76657273696f6e223a226d6f64656c2d37222c22',
    '776569676874735f76657273696f6e223a22696e697469616c227d',
  ),
  hashes: joined(
    '0100000018d1036b7b22726571756573745f736861323536223a2237373737373737373737373737373737',
    '37373737373737373737373737373737373737373737373737373737373737373737373737373737373737',
    '3737373737222c22726573706f6e73655f736861323536223a226161616161616161616161616161616161',
    '61616161616161616161616161616161616161616161616161616161616161616161616161616161616161',
    '61616161222c22776569676874735f736861323536223a6e756c6c2c226d6f64656c5f736861323536223a',
    '22636363636363636363636363636363636363636363636363636363636363636363636363636363636363',
    '63636363636363636363636363636363636363636363222c2268617368223a226262626262626262626262',
    '62626262626262626262626262626262626262626262626262626262626262626262626262626262626262',
    '62626262626262626262222c226578706972696573223a5b7b22656e646564223a22726573706f6e736573',
    '222c227468726f756768223a372c2268617368223a22646464646464646464646464646464646464646464',
    '64646464646464646464646464646464646464646464646464646464646464646464646464646464646464',
    '227d5d7d',
  ),
  position: '010000006d8748c670110100',
  request: '01020000334511e90000000100000000010203',
  bytes: '01000000badfe1987b7d',
  response: '010001008eaaf5ad44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a7b7d',
  image: joined(
    '010000001cca9fa8fbff4f00ffff0000060000007b5555690505050505050505050505050505050505050505',
    '05050505050505050505050522ec95bceab5ac5c756438303022',
  ),
  weights: joined(
    '010000007c0ebcfe7b2276657273696f6e223a227631222c2277656967687473223a7b227669657773223a30',
    '2e312c22636f6d6d656e7473223a302e322c227570223a302e332c22646f776e766f74655f7368617265223a',
    '307d2c226e6f7465223a22eba994ebaaa8205c7564383030222c227365745f61745f6d73223a313736373230',
    '303030303132332c2266697273745f6379636c655f6d73223a313736373230303130303030307d',
  ),
  shadowScores: '01000000bf81c9b00a000000226d2d5c75643830302207',
  outcome: '010000002398adb80a0000007b55556922702d5c7564383030227b7d',
}

function checkGolden<T>(
  name: keyof typeof golden,
  written: Uint8Array,
  read: (bytes: Uint8Array) => T,
  value: T,
) {
  expect(hexOf(written)).toBe(golden[name])
  expect(read(Uint8Array.from(Buffer.from(golden[name], 'hex')))).toEqual(value)
}

describe('the bytes of records of version 1 do not change', () => {
  test('cycle', () => checkGolden('cycle', records.packCycle(cycle), records.readCycle, cycle))
  test('hashes', () => checkGolden('hashes', records.packChainEntry(hashes), records.readChainEntry, hashes))
  test('position', () => checkGolden('position', records.packPosition(70_000), records.readPosition, 70_000))
  test('request', () =>
    checkGolden('request', records.packRequest(request), records.readStoredRequest, request))
  test('bytes', () => {
    const read = (bytes: Uint8Array) => records.readBytes(bytes, 'image')
    checkGolden('bytes', records.packBytes(bytesOf(123, 125)), read, bytesOf(123, 125))
  })
  test('response', () => {
    const read = (bytes: Uint8Array) => records.readBytes(bytes, 'response')
    checkGolden('response', records.packResponse(response, responseSha256), read, response)
    expect(records.readResponseHash(records.packResponse(response, responseSha256))).toBe(responseSha256)
  })
  test('image', () => {
    const written = records.packImageIdentity(identity)
    checkGolden('image', written, records.readImageIdentity, identity)
  })
  test('shadow scores', () => {
    const value = { modelVersion: 'm-\ud800', scores: bytesOf(7) }
    const written = records.packShadowScores(value.modelVersion, value.scores)
    checkGolden('shadowScores', written, records.readShadowScores, value)
  })
  test('weights', () => checkGolden('weights', records.packWeights(weights), records.readWeights, weights))
  test('outcome', () =>
    checkGolden('outcome', records.packOutcome(outcome), records.readStoredOutcome, outcome))
})

describe('a record', () => {
  test('of a later version is refused by name', () => {
    const record = packRecord(0, [bytesOf(1)])
    record[0] = 2
    viewOf(record).setUint32(4, crc32(record.subarray(8), crc32(record.subarray(0, 4))), true)
    expect(() => openRecord(record, 'pool')).toThrow('the stored pool has version 2, this program supports 1')
  })

  test('returns its tag and payload, and refuses every flipped bit and every truncation', () => {
    const form = fc.record({ payload: fc.uint8Array(), tag: fc.nat(255), isHashed: fc.boolean() })
    fc.assert(
      fc.property(form, fc.nat(), fc.nat(7), ({ payload, tag, isHashed }, position, bit) => {
        const sha256 = isHashed ? hash('sha256', payload) : null
        const record = sha256 === null ? packRecord(tag, [payload]) : packHashedRecord(tag, payload, sha256)
        expect(openRecord(record, 'thing')).toEqual({ tag, payload, sha256 })
        const index = position % record.length
        expect(() => openRecord(record.slice(0, index), 'thing')).toThrow('the stored thing is damaged')
        record[index] = record[index]! ^ (1 << bit)
        expect(() => openRecord(record, 'thing')).toThrow('the stored thing is damaged')
      }),
    )
  })

  test('of a request in an unknown encoding is refused', () => {
    expect(() => records.readStoredRequest(packRecord(9, [new Uint8Array(8)]))).toThrow('unknown encoding 9')
  })
})

test('a response whose hash is not that of its bytes is damaged', () => {
  const record = records.packResponse(response, hash('sha256', bytesOf(1)))
  expect(() => records.readResponseHash(record)).toThrow('the stored response is damaged')
})

test('a response without its hash is refused: no release has written one', () => {
  expect(() => records.readResponseHash(records.packBytes(response))).toThrow('has no hash')
})

describe('keys', () => {
  test('an image key is the hash of the gallery, then both numbers, big endian', () => {
    const key = imageKeyOf({ gallId: 'baseball', postNo: 258, position: 3 })
    expect(hexOf(key)).toBe('7fb46620c37bd6c8afd8dbbe4e3ef5e200000000000001020000000000000003')
  })

  test('a placement key is the hash of the id', () => {
    expect(hexOf(nameHash('p-\ud800'))).toBe('dffde19debe78d161cfb4abd7637e798')
  })

  test('the numbers of an image key are read back, up to the largest', () => {
    const number = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), number, number, (gallId, postNo, position) => {
        expect(imageNumbersOf(imageKeyOf({ gallId, postNo, position }))).toEqual({ postNo, position })
      }),
    )
  })

  test('a text that is not a cycle id has no key', () => {
    expect(cycleIdKey('20260101T0005')).toHaveLength(13)
    for (const text of ['', '20260101T00055', '20260101T000', '20260101t0005', '２0260101T0005'])
      expect(cycleIdKey(text)).toBeUndefined()
  })
})

function joined(...lines: readonly string[]): string {
  return lines.join('')
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}
