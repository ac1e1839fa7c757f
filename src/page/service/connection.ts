/**
 * The connection to the service: one stream of server-sent events, opened again after every interruption. Queries refresh
 * on its events, and when it opens, since events may have been missed.
 */
import { useEffect, useState } from 'preact/hooks'
import type { Call, Check, CyclePoint } from './api.js'

export interface Events {
  readonly cycle: CyclePoint
  readonly call: Call
  readonly status: { readonly checks: readonly Check[] }
  readonly models: object
  /** Everything is to be read anew: the stream was opened, or the server has dropped events. */
  readonly reset: object
}

export type EventName = keyof Events

/** `denied`: the server does not accept the cookie, for example after its token has changed. */
export type ConnectionState = 'connecting' | 'live' | 'lost' | 'denied'

type Listener = (name: EventName, data: never) => void

const serverEvents: readonly EventName[] = ['cycle', 'call', 'status', 'models', 'reset']
const retryMsMin = 1000
const retryMsMax = 10_000

class Connection {
  #state: ConnectionState = 'connecting'
  readonly #listeners = new Set<Listener>()
  readonly #stateListeners = new Set<(state: ConnectionState) => void>()
  #retryMs = retryMsMin

  get state(): ConnectionState {
    return this.#state
  }

  open(): void {
    const source = new EventSource('/api/events')
    for (const name of serverEvents)
      source.addEventListener(name, (event: MessageEvent<string>) =>
        this.#emit(name, JSON.parse(event.data) as never),
      )
    source.onopen = () => {
      this.#retryMs = retryMsMin
      this.#change('live')
      this.#emit('reset', {} as never)
    }
    source.onerror = () => {
      source.close()
      void this.#reopen()
    }
  }

  on(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  onState(listener: (state: ConnectionState) => void): () => void {
    this.#stateListeners.add(listener)
    return () => this.#stateListeners.delete(listener)
  }

  /** An EventSource does not say why it failed: a request does. */
  async #reopen(): Promise<void> {
    const status = await fetch('/api/now', { cache: 'no-store' }).then(
      (response) => response.status,
      () => 0,
    )
    this.#change(status === 401 ? 'denied' : 'lost')
    setTimeout(() => this.open(), this.#retryMs)
    this.#retryMs = Math.min(2 * this.#retryMs, retryMsMax)
  }

  #emit(name: EventName, data: never): void {
    for (const listener of this.#listeners) listener(name, data)
  }

  #change(state: ConnectionState): void {
    if (state === this.#state) return
    this.#state = state
    for (const listener of this.#stateListeners) listener(state)
  }
}

export const connection = new Connection()

export function useConnectionState(): ConnectionState {
  const [state, setState] = useState(connection.state)
  useEffect(() => {
    setState(connection.state)
    return connection.onState(setState)
  }, [])
  return state
}

/** Calls `listener` for each event of a name. */
export function useEvent<Name extends EventName>(name: Name, listener: (data: Events[Name]) => void): void {
  useEffect(
    () =>
      connection.on((given, data) => {
        if (given === name) listener(data)
      }),
    [name, listener],
  )
}
