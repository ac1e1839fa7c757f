/**
 * OpenTelemetry spans of requests, through the API package alone: without an SDK, which the user loads, every call does
 * nothing. Spans are made after the response from the times that were measured, so they cost a cycle nothing.
 */
import {
  isSpanContextValid,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
} from '@opentelemetry/api'
import { callProblemText } from '../contract/index.js'
import type { EndedRequest } from '../server/index.js'

const tracerName = 'understudy'

export class Tracing {
  readonly #version: string

  constructor(version: string) {
    this.#version = version
  }

  requestEnded(request: EndedRequest): void {
    const { method, operation, startedAt, endedAt, status } = request
    const options = {
      kind: SpanKind.SERVER,
      startTime: epochMs(startedAt),
      // Without an SDK, nobody reads them.
      get attributes() {
        return attributesOf(request)
      },
    }
    // Read each time: the SDK may be registered late, and by a copy of the API of its own.
    const tracer = trace.getTracer(tracerName, this.#version)
    const span = tracer.startSpan(operation ?? method, options, contextOf(request))
    if (span.isRecording()) {
      if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR, message: problemText(request) })
      const context = trace.setSpan(ROOT_CONTEXT, span)
      let from = startedAt
      for (const [stage, ms] of request.stages?.ms ?? []) {
        const child = tracer.startSpan(stage, { startTime: epochMs(from) }, context)
        from += ms
        child.end(epochMs(from))
      }
    }
    span.end(epochMs(endedAt))
  }
}

/** Converts a time of `performance.now()` to milliseconds since 1970. */
function epochMs(time: number): number {
  return performance.timeOrigin + time
}

/** The span of the client is the parent. */
function contextOf({ trace: parent }: EndedRequest): Context {
  if (parent === null) return ROOT_CONTEXT
  const spanContext = {
    traceId: parent.traceId,
    spanId: parent.spanId,
    traceFlags: parent.flags,
    isRemote: true,
  }
  return isSpanContextValid(spanContext) ? trace.setSpanContext(ROOT_CONTEXT, spanContext) : ROOT_CONTEXT
}

function problemText({ problem }: EndedRequest): string {
  return problem === null ? '' : callProblemText(problem)
}

/** The attributes; their names follow the semantic conventions of OpenTelemetry. */
function attributesOf({
  method,
  loggedPath,
  operation,
  status,
  code,
  bytesIn,
  bytesOut,
  stages,
}: EndedRequest): Attributes {
  const summary = stages?.summary ?? null
  const cycleId = summary?.cycleId ?? stages?.cycleId
  return {
    'http.request.method': method,
    'url.path': loggedPath,
    ...(operation === null ? {} : { 'http.route': operation.replace(/^\S+ /, '') }),
    ...(status === 0 ? { 'error.type': 'aborted' } : { 'http.response.status_code': status }),
    ...(code === undefined ? {} : { 'error.type': code }),
    'http.request.body.size': bytesIn,
    'http.response.body.size': bytesOut,
    ...(typeof cycleId === 'string' ? { 'understudy.cycle_id': cycleId } : {}),
    ...(summary === null
      ? {}
      : {
          'understudy.model_version': summary.modelVersion,
          'understudy.weights_version': summary.weightsVersion,
          'understudy.scored': summary.counts.scored_now,
        }),
  }
}
