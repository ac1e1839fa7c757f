/**
 * Server-sent events for the page. A stream costs a bounded amount of memory: one whose reader is too slow is closed, and
 * the page connects again and reads everything again. Events are written once per turn of the event loop. Most are
 * sent by what happens; `statusEvents` sends those of status and models by comparison with what was sent before.
 */
import type { ServerResponse } from 'node:http'
import { kibibyte } from '../base/index.js'
import { ServiceError, type AdminEvents, type Check } from '../contract/index.js'
import type { ServerSources } from '../server/index.js'
import { securityHeaders } from './access.js'
import type { HealthChecks } from './checks.js'
import type { Stream } from './routes.js'

const streamCountMax = 100
/** Bytes that wait for one reader. */
const unreadBytesMax = 256 * kibibyte
/** Events that wait for the next turn. More come only when requests arrive faster than they can be shown. */
const waitingCountMax = 100
/** Proxies close connections without traffic, and only a write detects a reader that has disconnected. */
const heartbeatMs = 5000
/** Delay before the page connects again. */
const retryMs = 2000

export class EventStreams {
  /** Streams that were closed because their reader was too slow. */
  droppedCount = 0
  readonly #clock: () => number
  readonly #streams = new Set<ServerResponse>()
  #waiting: string[] = []
  readonly #heartbeat: NodeJS.Timeout

  /** `clock`: milliseconds since 1970. */
  constructor(clock: () => number) {
    this.#clock = clock
    this.#heartbeat = setInterval(() => this.#broadcast(this.#heartbeatText()), heartbeatMs).unref()
  }

  get count(): number {
    return this.#streams.size
  }

  /** Throws `unavailable` if too many streams are open. */
  open(): Stream {
    if (this.#streams.size >= streamCountMax)
      throw new ServiceError({ code: 'too_many_streams' }, { retryAfterS: 10 })
    return (response) => {
      // Its `close` event has passed: nothing would remove the stream.
      if (response.destroyed) return
      response.writeHead(200, {
        ...securityHeaders,
        'Content-Type': 'text/event-stream; charset=utf-8',
        // nginx would otherwise hold events back until they fill its buffer.
        'X-Accel-Buffering': 'no',
      })
      this.#streams.add(response)
      response.once('close', () => this.#streams.delete(response))
      this.#write(response, `retry: ${retryMs}\n\n${this.#heartbeatText()}`)
    }
  }

  /** Sends an event to all streams. Costs nothing if there are none. */
  send(name: keyof AdminEvents, data: object): void {
    if (this.#streams.size > 0) this.#broadcast(eventText(name, data))
  }

  close(): void {
    clearInterval(this.#heartbeat)
    for (const response of this.#streams) response.destroy()
  }

  #heartbeatText(): string {
    const time = new Date(this.#clock()).toISOString()
    return eventText('heartbeat', { time, interval_ms: heartbeatMs })
  }

  #broadcast(text: string): void {
    if (this.#waiting.length === 0) setImmediate(() => this.#writeAll())
    if (this.#waiting.length >= waitingCountMax) this.#waiting = [eventText('reset', {})]
    else this.#waiting.push(text)
  }

  #writeAll(): void {
    const text = this.#waiting.splice(0).join('')
    for (const response of this.#streams) this.#write(response, text)
  }

  #write(response: ServerResponse, text: string): void {
    if (response.destroyed) return
    response.write(text)
    if (response.writableLength <= unreadBytesMax) return
    this.droppedCount++
    response.destroy()
  }
}

function eventText(name: keyof AdminEvents, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
}

interface StatusSources {
  readonly sources: Pick<ServerSources, 'models'>
  readonly streams: Pick<EventStreams, 'count' | 'send'>
  readonly checks: Pick<HealthChecks, 'run'>
}

/** A function that sends each of the two events if its content has changed. It does nothing while no stream is open. */
export function statusEvents({ sources, streams, checks }: StatusSources): () => Promise<void> {
  const sent = new Map<string, string>()
  const sendIfChanged = (name: 'status' | 'models', data: object, content: string): void => {
    if (sent.get(name) === content) return
    sent.set(name, content)
    streams.send(name, data)
  }
  return async () => {
    if (streams.count === 0) return
    const versions = { models: sources.models.versions, failures: sources.models.status.failures }
    sendIfChanged('models', versions, JSON.stringify(versions))
    const lines = await checks.run()
    sendIfChanged('status', { checks: lines }, lines.map(contentOf).join())
  }
}

/** Omits the figures of the reasons, some of which grow each second. */
function contentOf({ check, status, reasons }: Check): string {
  return [check, status, ...reasons.map(({ code }) => code)].join(' ')
}
