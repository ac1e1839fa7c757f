/** A call holds memory until its two ends, which come in either order. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BodyAdmission } from './body-admission.js'
import { CallResources } from './call-resources.js'

test('in any order of its two ends, with memory acquired until the end of the work, a call leaves nothing held', () => {
  const acquisition = fc.record({ side: fc.constantFrom('request', 'response'), bytes: fc.nat(100) } as const)
  const acquisitions = fc.array(acquisition, { maxLength: 5 })
  fc.assert(
    fc.property(acquisitions, acquisitions, fc.boolean(), (first, second, clientLeaves) => {
      const [requests, responses] = [new BodyAdmission(1e6), new BodyAdmission(1e6)]
      let released = 0
      const call = new CallResources(requests, responses, () => released++)
      const acquire = (list: typeof first): void =>
        list.forEach(({ side, bytes }) => void call[side].add(bytes))
      const sum = (side: 'request' | 'response'): number =>
        [...first, ...second].reduce((total, each) => total + (each.side === side ? each.bytes : 0), 0)
      acquire(first)
      if (clientLeaves) call.connectionEnded()
      // The work does not know that the client has left.
      acquire(second)
      expect([requests.bytesHeld, responses.bytesHeld, released]).toEqual([
        sum('request'),
        sum('response'),
        0,
      ])
      call.workEnded()
      if (!clientLeaves) {
        // The client may read its response slowly: that does not keep others from sending.
        expect([requests.bytesHeld, responses.bytesHeld, released]).toEqual([0, sum('response'), 0])
        call.connectionEnded()
      }
      expect([requests.bytesHeld, responses.bytesHeld, released]).toEqual([0, 0, 1])
    }),
  )
})

test('nothing is acquired after the end of the work, and each end comes once', () => {
  const call = new CallResources(new BodyAdmission(1e6), new BodyAdmission(1e6), () => undefined)
  call.workEnded()
  expect(() => call.request.add(1)).toThrow('after its release')
  expect(() => call.workEnded()).toThrow('ends once')
  call.connectionEnded()
  expect(() => call.response.add(1)).toThrow('after its release')
  expect(() => call.connectionEnded()).toThrow('ends once')
})
