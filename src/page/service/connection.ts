/**
 * The connection to the service: one stream of server-sent events, opened again after every interruption. Queries refresh
 * on its events, and when it opens, since events may have been missed. Browsers allow a host six connections, so a
 * hidden tab closes its stream.
 */
import { useEffect } from 'preact/hooks'
import { queryTimeoutMs, type AdminEvents } from './api.js'
import { Backoff } from './backoff.js'
import { setServerTime } from './clock.js'
import { Topic, useWatched } from './topic.js'

/** `reset` is also emitted when the stream opens. */
export type Events = Omit<AdminEvents, 'heartbeat'>

export type EventName = keyof Events

/** `denied`: the server does not accept the cookie, for example after its token has changed. */
export type ConnectionState = 'connecting' | 'live' | 'lost' | 'denied'

const serverEvents: readonly EventName[] = ['cycle', 'call', 'status', 'models', 'reset']
/** Used until the first heartbeat, which states the interval. */
const heartbeatMsDefault = 5000
/** How long a hidden tab keeps its stream. */
const hiddenMsMax = 60_000

export class Connection {
  readonly events = new Topic<[name: EventName, data: never]>()
  readonly stateChanged = new Topic<[]>()
  #state: ConnectionState = 'connecting'
  #source: EventSource | null = null
  #heartbeatMs = heartbeatMsDefault
  #silence: ReturnType<typeof setTimeout> | undefined
  #hiding: ReturnType<typeof setTimeout> | undefined
  readonly #backoff = new Backoff(() => this.#connect())

  get state(): ConnectionState {
    return this.#state
  }

  open(): void {
    document.addEventListener('visibilitychange', () => this.#visibilityChanged())
    this.#connect()
    this.#visibilityChanged()
  }

  #connect(): void {
    const source = new EventSource('/api/events')
    this.#source = source
    const listen = (name: string, onData: (data: never) => void): void =>
      source.addEventListener(name, ({ data }: MessageEvent<string>) => {
        this.#expectHeartbeat()
        onData(JSON.parse(data) as never)
      })
    for (const name of serverEvents) listen(name, (data) => this.events.emit(name, data))
    listen('heartbeat', ({ time, interval_ms }: AdminEvents['heartbeat']) => {
      this.#heartbeatMs = interval_ms
      this.#expectHeartbeat()
      setServerTime(Date.parse(time))
    })
    source.onopen = () => {
      this.#backoff.reset()
      this.#change('live')
      this.events.emit('reset', {} as never)
    }
    source.onerror = () => this.#lose()
    this.#expectHeartbeat()
  }

  /** A stream without a heartbeat for two intervals is lost, even while it opens. */
  #expectHeartbeat(): void {
    clearTimeout(this.#silence)
    this.#silence = setTimeout(() => this.#lose(), 2 * this.#heartbeatMs)
  }

  #close(): void {
    clearTimeout(this.#silence)
    this.#source?.close()
    this.#source = null
  }

  #lose(): void {
    this.#close()
    if (this.#state !== 'denied') this.#change('lost')
    this.#backoff.schedule()
    this.#findReason().catch(reportError)
  }

  /** An EventSource does not report why it failed; an ordinary request does. */
  async #findReason(): Promise<void> {
    const request = { cache: 'no-store', signal: AbortSignal.timeout(queryTimeoutMs) } as const
    const isDenied = await fetch('/api/now', request).then(
      ({ status }) => status === 401,
      () => false,
    )
    // Meanwhile it may be live again.
    if (this.#state === 'lost' || this.#state === 'denied') this.#change(isDenied ? 'denied' : 'lost')
  }

  #visibilityChanged(): void {
    clearTimeout(this.#hiding)
    if (document.hidden)
      this.#hiding = setTimeout(() => {
        this.#close()
        this.#backoff.reset()
        this.#change('connecting')
      }, hiddenMsMax)
    else if (this.#state === 'connecting' && this.#source === null) this.#connect()
  }

  #change(state: ConnectionState): void {
    if (state === this.#state) return
    this.#state = state
    this.stateChanged.emit()
  }
}

export const connection = new Connection()

export function useConnectionState(): ConnectionState {
  return useWatched(
    () => connection.state,
    (onChange) => connection.stateChanged.on(onChange),
  )
}

/** Calls `listener` for each event of a name. */
export function useEvent<Name extends EventName>(name: Name, listener: (data: Events[Name]) => void): void {
  useEffect(
    () =>
      connection.events.on((given, data) => {
        if (given === name) listener(data)
      }),
    [name, listener],
  )
}
