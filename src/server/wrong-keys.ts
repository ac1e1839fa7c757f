/**
 * Wrong keys are slow to guess: the first of a minute from one client are answered at once, later ones after a while.
 * Right keys never come here. Memory is bounded: so many clients are remembered, the one seen longest ago is forgotten
 * first, and so many answers wait; one more costs the client its connection.
 */

/** Clients remembered, at some hundred bytes each. */
export const clientCountMax = 10_000
/** Answers that wait: of one client, and of all together. Each holds a connection. */
export const heldPerClientMax = 8
export const heldMax = 256
const minuteMs = 60_000

export interface WrongKeyLimits {
  /** Wrong keys of one client in a minute that are answered at once. */
  readonly wrongKeysPerMinuteMax: number
  /** What later ones wait for their answer. */
  readonly wrongKeyDelayMs: number
}

/** What becomes of a wrong key. `cut`: too many wait already. `wait`: answer it when `over` resolves; it never rejects. */
export type Verdict =
  | { readonly kind: 'now' }
  | { readonly kind: 'cut' }
  | { readonly kind: 'wait'; readonly over: Promise<void> }

interface Client {
  minuteBeganMs: number
  count: number
  heldCount: number
}

export interface WrongKeysParts {
  /** Asked at each key, so that limits may change. */
  readonly limits: () => WrongKeyLimits
  /** Milliseconds that only grow. */
  readonly clock: () => number
  /** Told once in a minute of a client that passes its limit. */
  readonly onSlow: (client: string) => void
}

export class WrongKeys {
  readonly #parts: WrongKeysParts
  /** Last seen last. */
  readonly #clients = new Map<string, Client>()
  readonly #held = new Set<() => void>()
  #closed = false

  constructor(parts: WrongKeysParts) {
    this.#parts = parts
  }

  /** Clients remembered now, and answers that wait. */
  get load(): { clientCount: number; heldCount: number } {
    return { clientCount: this.#clients.size, heldCount: this.#held.size }
  }

  /** Takes note of a wrong key. */
  note(name: string): Verdict {
    const { wrongKeysPerMinuteMax, wrongKeyDelayMs } = this.#parts.limits()
    const client = this.#recall(name)
    client.count++
    if (this.#closed || client.count <= wrongKeysPerMinuteMax || wrongKeyDelayMs === 0) return { kind: 'now' }
    if (client.count === wrongKeysPerMinuteMax + 1) this.#parts.onSlow(name)
    if (client.heldCount >= heldPerClientMax || this.#held.size >= heldMax) return { kind: 'cut' }
    return { kind: 'wait', over: this.#hold(client, wrongKeyDelayMs) }
  }

  /** Lets go of all that wait; from now on nothing waits. */
  close(): void {
    this.#closed = true
    for (const release of this.#held) release()
  }

  #recall(name: string): Client {
    const nowMs = this.#parts.clock()
    const known = this.#clients.get(name)
    this.#clients.delete(name)
    const client = known ?? { minuteBeganMs: nowMs, count: 0, heldCount: 0 }
    if (nowMs - client.minuteBeganMs >= minuteMs) {
      client.minuteBeganMs = nowMs
      client.count = 0
    }
    this.#clients.set(name, client)
    const [oldest] = this.#clients.keys()
    if (this.#clients.size > clientCountMax && oldest !== undefined) this.#clients.delete(oldest)
    return client
  }

  #hold(client: Client, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const release = (): void => {
        clearTimeout(timer)
        this.#held.delete(release)
        client.heldCount--
        resolve()
      }
      const timer = setTimeout(release, ms)
      client.heldCount++
      this.#held.add(release)
    })
  }
}
