/**
 * Sends one cycle to the service, with the faults drawn for it. Whatever happens, all responses to the cycle must be
 * the same bytes.
 */
import type { CycleRequest } from '../contract/index.js'
import type { Api } from './api.js'
import { SimulationError } from './errors.js'
import { reordered, type CycleFaults } from './faults.js'
import type { Call, Reply } from './http-client.js'
import type { ResponseDigests } from './response-digests.js'

/** Larger bodies are not indented: they could exceed the size limit of a body. */
const indentedBytesMax = 2 * 1024 * 1024

export interface Delivery {
  readonly response: Buffer
  /** Duration of the call in ms; null if a fault makes the duration meaningless. */
  readonly tookMs: number | null
}

export interface DeliveryTools {
  readonly api: Api
  readonly responses: ResponseDigests
  readonly isOwn: (gallId: string) => boolean
}

export async function deliver(
  tools: DeliveryTools,
  request: CycleRequest,
  faults: CycleFaults,
): Promise<Delivery> {
  const { api, responses } = tools
  const { cycle_id: cycleId } = request
  const call = await api.cycleCall(Buffer.from(JSON.stringify(request)), faults.rng)
  const send = async (sent: Call, context: string): Promise<Reply> => {
    const reply = await api.sendCycle(sent)
    if (reply.status === 409) return conflict(tools, call, cycleId, reply)
    responses.check(cycleId, reply.body, context)
    return reply
  }
  const repeated = async (): Promise<Call> =>
    faults.reserialised ? reserialised(api, request, faults) : call

  switch (faults.delivery) {
    case 'body-cut':
    case 'response-unread':
      await api.breakOff(call, faults.delivery)
      return { response: (await send(await repeated(), 'after a broken call')).body, tookMs: null }
    case 'duplicate': {
      const duplicate = await repeated()
      const [first] = await Promise.all([send(call, 'of a duplicate'), send(duplicate, 'of a duplicate')])
      return { response: first.body, tookMs: null }
    }
    case 'response-lost': {
      const { tookMs, retryCount } = await send(call, 'first call')
      const { body } = await send(await repeated(), 'sent again')
      return { response: body, tookMs: retryCount === 0 ? tookMs : null }
    }
    case 'none': {
      const { body, tookMs, retryCount } = await send(call, 'first call')
      return { response: body, tookMs: retryCount === 0 ? tookMs : null }
    }
  }
}

/** The same request, written in another way. */
function reserialised(api: Api, request: CycleRequest, faults: CycleFaults): Promise<Call> {
  const value = reordered(request, faults.rng)
  const body = Buffer.from(JSON.stringify(value))
  const indented = body.length < indentedBytesMax && faults.rng.chance(0.5)
  return api.cycleCall(indented ? Buffer.from(JSON.stringify(value, null, 1)) : body, faults.rng)
}

/** A 409: another client owns the cycle id, or the service takes two spellings of one value for two values. */
async function conflict(
  { api, isOwn }: DeliveryTools,
  call: Call,
  cycleId: string,
  reply: Reply,
): Promise<never> {
  const stored = await api.storedResult(cycleId)
  if (stored !== null && ![...stored.galleries].some(isOwn))
    throw new SimulationError('occupied', `cycle ${cycleId} belongs to another client`)
  return api.fail(call, 'status', 200, `409 ${reply.body.toString('utf8')}`)
}
