/** What an exchange releases when something fails at its end. */
import { expect, test } from 'vitest'
import { FakeExchange } from '../../test/helpers/fake-exchange.js'
import { BodyAdmission } from './body-admission.js'
import { CallResources } from './call-resources.js'
import { Exchange } from './exchange.js'

test('an observer or a logger that throws at the end of a request keeps nothing held', () => {
  const [requests, responses] = [new BodyAdmission(1000), new BodyAdmission(1000)]
  for (const end of ['response', 'disconnect'] as const) {
    let releasedCount = 0
    const resources = new CallResources(requests, responses, () => releasedCount++)
    const fake = new FakeExchange({ method: 'GET', path: '/v1/health' })
    const exchange = new Exchange(fake.response, fake.request, 0, resources, () => {
      throw new Error('the log fails')
    })
    exchange.watchConnection()
    resources.request.add(10)
    expect(exchange.reserveResponse(20)).toBeNull()
    exchange.workEnded()
    const ending = (): void => {
      if (end === 'disconnect') fake.disconnect()
      else exchange.send({ status: 200, headers: {}, body: new Uint8Array(20) }, false)
    }
    expect(ending).toThrow('the log fails')
    expect([requests.bytesHeld, responses.bytesHeld, releasedCount], end).toEqual([0, 0, 1])
  }
})
