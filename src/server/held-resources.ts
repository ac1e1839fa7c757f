/**
 * What all calls together hold at this moment. Every number is 0 when no call is open: one that does not return to 0 shows
 * a resource that was not released.
 */
import type { ImageSemaphore } from '../images/index.js'
import type { BodyMemory } from './body.js'
import { sendingCount } from './exchange.js'
import type { RequestHandler } from './request-handler.js'

export interface HeldResourcesParts {
  readonly bodies: BodyMemory
  readonly handler: RequestHandler
  readonly imageSemaphore: ImageSemaphore
}

/** `body`: of requests and responses. */
export const heldBytesKinds = ['body', 'waiting_image'] as const
/** `open`: all calls; `sending`: large responses; `image`: uploads that are processed and that wait. */
export const heldCallsKinds = ['open', 'sending', 'image'] as const

export interface HeldResources {
  readonly bytes: Readonly<Record<(typeof heldBytesKinds)[number], number>>
  readonly calls: Readonly<Record<(typeof heldCallsKinds)[number], number>>
}

export function heldResources({ bodies, handler, imageSemaphore }: HeldResourcesParts): HeldResources {
  return {
    bytes: { body: bodies.bytesHeld, waiting_image: imageSemaphore.waitingBytes },
    calls: { open: handler.openCount, sending: sendingCount(), image: imageSemaphore.count },
  }
}
