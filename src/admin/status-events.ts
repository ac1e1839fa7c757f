/**
 * The events of status and models. Other events are sent by what happens; these by comparison with what was sent before.
 */
import type { Check } from '../contract/index.js'
import type { ServerSources } from '../server/index.js'
import type { HealthChecks } from './checks.js'
import type { EventStreams } from './event-streams.js'

interface Parts {
  readonly sources: Pick<ServerSources, 'models'>
  readonly streams: Pick<EventStreams, 'count' | 'send'>
  readonly checks: Pick<HealthChecks, 'run'>
}

/** A function that sends each of the two events if its content has changed. It does nothing while no stream is open. */
export function statusEvents({ sources, streams, checks }: Parts): () => Promise<void> {
  const sent = new Map<string, string>()
  const sendIfChanged = (name: 'status' | 'models', data: object, content: string): void => {
    if (sent.get(name) === content) return
    sent.set(name, content)
    streams.send(name, data)
  }
  return async () => {
    if (streams.count === 0) return
    const versions = { models: sources.models.versions, failures: sources.models.status.failures }
    sendIfChanged('models', versions, JSON.stringify(versions))
    const lines = await checks.run()
    sendIfChanged('status', { checks: lines }, lines.map(contentOf).join())
  }
}

/** Omits the figures of the reasons, some of which grow each second. */
function contentOf({ check, status, reasons }: Check): string {
  return [check, status, ...reasons.map(({ code }) => code)].join(' ')
}
