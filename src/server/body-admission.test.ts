/** The limits of all bodies together. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FakeExchange } from '../../test/helpers/fake-exchange.js'
import { minuteMs } from '../base/index.js'
import { BodyAdmission, largeBytesMin, largeCountMax, type BodyReservation } from './body-admission.js'
import { IncomingBody } from './incoming-body.js'

test('bytes past the limit are refused with Retry-After, and nothing is added', () => {
  const admission = new BodyAdmission(100)
  const [first, second] = [admission.open(), admission.open()]
  first.add(60)
  second.add(40)
  expect(second.add(1)).toMatchObject({ kind: 'unavailable', retryAfterS: 1 })
  expect(admission.bytesHeld).toBe(100)
  first.release()
  second.add(60)
  expect(admission.bytesHeld).toBe(100)
  expect(() => first.release()).toThrow('released once')
})

test('for any order of additions and releases, the sum is right and never over the limit', () => {
  const action = fc.record({ request: fc.nat(4), bytes: fc.option(fc.nat(50)) })
  fc.assert(
    fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
      const admission = new BodyAdmission(100)
      const reservations = Array.from({ length: 5 }, (): BodyReservation => admission.open())
      const held = reservations.map(() => 0)
      const sum = (): number => held.reduce((a, b) => a + b)
      for (const { request, bytes } of actions) {
        const reservation = reservations[request]!
        if (bytes === null) {
          reservation.release()
          reservations[request] = admission.open()
          held[request] = 0
        } else if (sum() + bytes > 100) expect(reservation.add(bytes)).not.toBeNull()
        else {
          expect(reservation.add(bytes)).toBeNull()
          held[request] = held[request]! + bytes
        }
        expect(admission.bytesHeld).toBe(sum())
      }
    }),
  )
})

test('large bodies past the limit are refused until one of them is complete; small ones are not limited', () => {
  const admission = new BodyAdmission(1e9)
  const arriving = Array.from({ length: largeCountMax }, () => admission.open())
  for (const reservation of arriving) {
    expect(reservation.receive(largeBytesMin - 1)).toBeNull()
    expect(reservation.receive(1)).toBeNull()
  }
  expect(admission.largeCount).toBe(largeCountMax)
  const [small, late] = [admission.open(), admission.open()]
  expect(small.receive(1000)).toBeNull()
  expect(late.receive(largeBytesMin)).toMatchObject({ kind: 'unavailable', retryAfterS: 1 })
  const first = arriving[0]!
  first.arrived()
  first.arrived()
  expect(late.receive(largeBytesMin)).toBeNull()
  for (const reservation of [...arriving, small, late]) reservation.release()
  expect([admission.largeCount, admission.bytesHeld]).toEqual([0, 0])
})

test('a large body counts as arriving until its last byte, however long its request takes', async () => {
  const admission = new BodyAdmission(1e9)
  const body = new Uint8Array(largeBytesMin + 1)
  const exchange = new FakeExchange({ method: 'POST', path: '/', body })
  const incoming = new IncomingBody(
    { isPresent: true, bytes: body.length },
    exchange.response,
    admission.open(),
  )
  const reading = incoming.read(body.length, minuteMs)
  exchange.deliver(0, largeBytesMin)
  expect(admission.largeCount).toBe(1)
  exchange.deliver(largeBytesMin, body.length)
  expect(await reading).toHaveLength(body.length)
  expect([admission.largeCount, admission.bytesHeld]).toEqual([0, body.length])
  incoming.release()
})
