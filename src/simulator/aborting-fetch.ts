/**
 * Client faults on the connection: a `fetch` that closes it within the body of the request, or after the body and before
 * the response.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { kibibyte } from '../base/index.js'

/** body-cut: the connection is closed within the body. response-unread: after the body; the service may process the call. */
export type AbortedCall = 'body-cut' | 'response-unread'

const pieceBytes = 64 * kibibyte
/** How long the service has to start on a call that is aborted. */
const abortAfterMs = 3

/** Rejects always. `onSent` receives the number of bytes of the body that are sent. */
export function abortingFetch(how: AbortedCall, onSent: (bytes: number) => void): typeof fetch {
  return async (url, init) => {
    const whole = (init?.body ?? new Uint8Array()) as Uint8Array<ArrayBuffer>
    const body = how === 'response-unread' ? whole : whole.subarray(0, whole.length >> 1)
    onSent(body.length)
    const broken = new AbortController()
    let sent = 0
    // A piece is requested when the socket has accepted the one before.
    const pull = async (pieces: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
      if (sent < body.length) {
        pieces.enqueue(body.subarray(sent, (sent += pieceBytes)))
        return
      }
      if (how === 'response-unread') pieces.close()
      await sleep(abortAfterMs)
      broken.abort()
    }
    const stream = new ReadableStream({ pull }, { highWaterMark: 0 })
    const signals = [broken.signal, ...(init?.signal ? [init.signal] : [])]
    await fetch(url, { ...init, body: stream, duplex: 'half', signal: AbortSignal.any(signals) })
    broken.abort()
    throw new Error('the call was aborted')
  }
}
