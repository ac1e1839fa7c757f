import { createRequire } from 'node:module'
import {
  ROOT_CONTEXT,
  SpanStatusCode,
  trace,
  type Context,
  type SpanOptions,
  type SpanStatus,
  type TraceAPI,
} from '@opentelemetry/api'
import { afterEach, expect, test } from 'vitest'
import { endedRequest } from '../../test/helpers/observed-cycles.js'
import { StageClock } from '../cycle/index.js'
import type { EndedRequest } from '../server/index.js'
import { Tracing } from './tracing.js'

interface MadeSpan {
  readonly name: string
  readonly options: SpanOptions
  readonly parentTraceId: string | undefined
  endMs: unknown
  status?: SpanStatus
}

afterEach(() => trace.disable())

/** A provider that records spans, in the place of an SDK. */
function recordedSpans(api: Pick<TraceAPI, 'setGlobalTracerProvider'> = trace): MadeSpan[] {
  const made: MadeSpan[] = []
  const startSpan = (name: string, options: SpanOptions, context: Context = ROOT_CONTEXT) => {
    const parentTraceId = trace.getSpanContext(context)?.traceId
    const span: MadeSpan = { name, options, parentTraceId, endMs: undefined }
    made.push(span)
    return {
      isRecording: () => true,
      setStatus: (status: SpanStatus) => (span.status = status),
      spanContext: () => ({
        traceId: parentTraceId ?? 'a'.repeat(32),
        spanId: 'b'.repeat(16),
        traceFlags: 1,
      }),
      end: (endMs: unknown) => (span.endMs = endMs),
    }
  }
  api.setGlobalTracerProvider({ getTracer: () => ({ startSpan }) as never })
  return made
}

function endedCycle(trace: EndedRequest['trace']): EndedRequest {
  const stages = Object.assign(new StageClock(100), { cycleId: '20240301T0000' })
  stages.lap('receive')
  stages.lap('decode')
  return { ...endedRequest, startedAt: 100, endedAt: 200, bytesOut: 2, stages, trace }
}

test('a request is a span of the trace of its client, with one span per stage', () => {
  const made = recordedSpans()
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
  new Tracing('1').requestEnded(endedCycle({ traceId, spanId: '00f067aa0ba902b7', flags: 1 }))
  expect(made.map(({ name }) => name)).toEqual(['POST /v1/cycles', 'receive', 'decode'])
  expect(made.map(({ parentTraceId }) => parentTraceId)).toEqual([traceId, traceId, traceId])
  const [root, receive, decode] = made
  expect(root?.endMs).toBe(performance.timeOrigin + 200)
  expect(root?.options.attributes).toMatchObject({
    'http.route': '/v1/cycles',
    'http.response.status_code': 200,
    'understudy.cycle_id': '20240301T0000',
  })
  expect(receive?.options.startTime).toBe(performance.timeOrigin + 100)
  expect(decode?.options.startTime).toBe(receive?.endMs)
})

test('a span is an error if the server failed, not if it refused the request', () => {
  const made = recordedSpans()
  for (const status of [0, 200, 422, 503]) new Tracing('1').requestEnded({ ...endedRequest, status })
  const error = SpanStatusCode.ERROR
  expect(made.map(({ status }) => status?.code)).toEqual([undefined, undefined, undefined, error])
})

test('without an SDK no attributes are made; one that is registered late, with a copy of the API, gets the spans', () => {
  const unread = Object.defineProperty({ ...endedRequest }, 'loggedPath', {
    get: () => {
      throw new Error('the path is read')
    },
  })
  const tracing = new Tracing('1')
  expect(() => tracing.requestEnded(unread)).not.toThrow()
  const copy = createRequire(import.meta.url)('@opentelemetry/api') as { trace: TraceAPI }
  const made = recordedSpans(copy.trace)
  tracing.requestEnded(endedRequest)
  expect(made.map(({ options }) => options.attributes)).toMatchObject([{ 'url.path': '/v1/cycles' }])
})
