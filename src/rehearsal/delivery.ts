/**
 * Brings one cycle to the service, through the mishaps drawn for it. Whatever happens on the way, all answers to
 * the cycle must be the same bytes.
 */
import type { CycleRequest } from '../contract/index.js'
import type { Answers } from './answers.js'
import type { Api } from './api.js'
import { RehearsalError } from './breach.js'
import { reordered, type CycleFaults } from './faults.js'
import type { Call, Reply } from './http-client.js'

/** Bodies above this size are not laid out with white space: they could pass the limit for bodies. */
const indentedBytesMax = 2 * 1024 * 1024

export interface Delivery {
  readonly answer: Buffer
  /** How long the undisturbed call took, in ms; null if a mishap makes the time say nothing. */
  readonly tookMs: number | null
}

export interface DeliveryTools {
  readonly api: Api
  readonly answers: Answers
  readonly isOwn: (gallId: string) => boolean
}

export async function deliver(
  tools: DeliveryTools,
  request: CycleRequest,
  faults: CycleFaults,
): Promise<Delivery> {
  const { api, answers } = tools
  const { cycle_id: cycleId } = request
  const body = Buffer.from(JSON.stringify(request))
  const call = await api.cycleCall(body, faults.rng)
  const send = async (again: Call, how: string): Promise<Reply> => {
    const reply = await api.sendCycle(again)
    if (reply.status === 409) return refused(tools, call, cycleId, reply)
    answers.take(cycleId, reply.body, how)
    return reply
  }
  const again = async (): Promise<Call> => (faults.reserialised ? rewritten(api, request, faults) : call)

  switch (faults.mishap) {
    case 'halfway':
    case 'unread':
      await api.abandon(call, faults.mishap)
      return { answer: (await send(await again(), 'after a broken call')).body, tookMs: null }
    case 'twins': {
      const twin = await again()
      const [first] = await Promise.all([send(call, 'of a twin'), send(twin, 'of a twin')])
      return { answer: first.body, tookMs: null }
    }
    case 'discarded': {
      const { tookMs, retryCount } = await send(call, 'sent')
      const repeated = await send(await again(), 'sent again')
      return { answer: repeated.body, tookMs: retryCount === 0 ? tookMs : null }
    }
    case 'none': {
      const { body: answer, tookMs, retryCount } = await send(call, 'sent')
      return { answer, tookMs: retryCount === 0 ? tookMs : null }
    }
  }
}

/** Another spelling of the same request. */
function rewritten(api: Api, request: CycleRequest, faults: CycleFaults): Promise<Call> {
  const value = reordered(request, faults.rng)
  const body = Buffer.from(JSON.stringify(value))
  const indented = body.length < indentedBytesMax && faults.rng.chance(0.5)
  return api.cycleCall(indented ? Buffer.from(JSON.stringify(value, null, 1)) : body, faults.rng)
}

/** A 409: either the id belongs to someone else's cycle, or the service takes one value for two. */
async function refused(
  { api, isOwn }: DeliveryTools,
  call: Call,
  cycleId: string,
  reply: Reply,
): Promise<never> {
  const said = `409 ${reply.body.toString('utf8')}`
  const gallIds = await api.storedGalleries(cycleId)
  if (gallIds !== null && ![...gallIds].some(isOwn)) {
    throw new RehearsalError('occupied', `cycle ${cycleId} is another client's`)
  }
  return api.fail(call, 'status', 200, said)
}
