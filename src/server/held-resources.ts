/**
 * What all calls together hold at this moment. Every number is 0 when no call is open: one that does not return to 0 shows
 * a resource that was not released.
 */
import { parsingCount } from '../codec/index.js'
import type { CycleService } from '../cycle/index.js'
import type { ImageSemaphore } from '../images/index.js'
import type { BodyAdmission } from './body-admission.js'
import { sendingCount } from './exchange.js'
import { decompressingCount } from './json-body.js'
import { readingCount } from './operations.js'
import type { RequestHandler } from './request-handler.js'

export interface HeldResourcesParts {
  readonly requestBodies: BodyAdmission
  readonly responseBodies: BodyAdmission
  readonly handler: RequestHandler
  readonly cycles: CycleService
  readonly imageSemaphore: ImageSemaphore
}

export const heldBytesKinds = ['request', 'response', 'waiting_image'] as const
/** `open`: all calls. `cycle_slot` counts cycles, the others calls. */
export const heldCallsKinds = [
  'open',
  'large_body',
  'sending',
  'decompressing',
  'parsing',
  'reading',
  'cycle_slot',
  'decoding',
  'comparing',
  'coalesced',
  'weights',
  'image',
] as const

export interface HeldResources {
  readonly bytes: Readonly<Record<(typeof heldBytesKinds)[number], number>>
  readonly calls: Readonly<Record<(typeof heldCallsKinds)[number], number>>
}

export function heldResources(parts: HeldResourcesParts): HeldResources {
  const { requestBodies, responseBodies, handler, cycles, imageSemaphore } = parts
  const { slots, ...waiting } = cycles.counts
  return {
    bytes: {
      request: requestBodies.bytesHeld,
      response: responseBodies.bytesHeld,
      waiting_image: imageSemaphore.waitingBytes,
    },
    calls: {
      open: handler.openCount,
      large_body: requestBodies.largeCount,
      sending: sendingCount(),
      decompressing: decompressingCount(),
      parsing: parsingCount(),
      reading: readingCount(),
      cycle_slot: slots,
      image: imageSemaphore.count,
      ...waiting,
    },
  }
}
