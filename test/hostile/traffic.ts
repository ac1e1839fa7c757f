/**
 * The requests: cycles over the same posts, images, and read-only calls. All but a few bytes of each are prepared.
 */
import { photographs } from '../harness/jpeg.js'
import { rampCycleCount, worldCycles } from '../harness/world.js'
import { cycleBoundaryMs, cycleIdOf, formatInstant } from '../../src/contract/time.js'
import type { RawRequest } from './raw-client.js'

/** The first number of the measured cycles: after those that filled the pool, and far in the past. */
const firstCycleMs = Date.UTC(2025, 2, 10)

export interface Traffic {
  readonly name: string
  /** Requests to be accepted before anything is measured, one after the other. */
  readonly first: readonly RawRequest[]
  /** A different request for each number. */
  readonly request: (number: number) => RawRequest
}

/** Cycles over `pending` posts, each with its own id and otherwise the same body. */
export function cycleTraffic(key: string, pending: number): Traffic {
  const world = worldCycles({ pending, turnover: 0, snapshotShare: 1, bodyChars: 400 })
  const first = Array.from({ length: rampCycleCount }, () => post(key, [world.next().value.request]))
  const text = world.next().value.request.toString()
  const shared = Buffer.from(text.slice(text.indexOf('"candidates"')))
  return {
    name: 'cycles',
    first,
    request: (number) => {
      const ms = firstCycleMs + number * cycleBoundaryMs
      return post(key, [`{"cycle_id":"${cycleIdOf(ms)}","cycle_time":"${formatInstant(ms)}",`, shared])
    },
  }
}

/** The id of the cycle that `cycleTraffic` sends with this number. */
export function cycleIdOfNumber(number: number): string {
  return cycleIdOf(firstCycleMs + number * cycleBoundaryMs)
}

/** Images of about 200 kB, each with a different key and different bytes. */
export async function imageTraffic(key: string): Promise<Traffic> {
  const jpegOf = await photographs()
  return {
    name: 'images',
    first: [],
    request: (number) => {
      const body = jpegOf(number)
      const path = `/v1/images/overload/${number + 1}/01`
      return [head(key, `PUT ${path}`, body.length, 'image/jpeg'), body]
    },
  }
}

export function reading(key: string, path: string): RawRequest {
  return [`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${key}\r\n\r\n`]
}

function post(key: string, body: RawRequest): RawRequest {
  const bytes = body.reduce((sum, part) => sum + part.length, 0)
  return [head(key, 'POST /v1/cycles', bytes, 'application/json'), ...body]
}

function head(key: string, line: string, bytes: number, type: string): string {
  return `${line} HTTP/1.1\r\nHost: x\r\nAuthorization: ${key}\r\nContent-Type: ${type}\r\nContent-Length: ${bytes}\r\n\r\n`
}
