/** Events, and values that components read again after each event. */
import { useEffect, useState } from 'preact/hooks'

/** Returns a function that ends the calls. */
type Subscribe = (onChange: () => void) => () => void

/** Listeners of one kind of event. */
export class Topic<T extends readonly unknown[]> {
  readonly #listeners = new Set<(...event: T) => void>()

  /** Returns a function that removes the listener. */
  on(listener: (...event: T) => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  emit(...event: T): void {
    for (const listener of this.#listeners) listener(...event)
  }
}

/** The value that `read` returns, renewed after each change. The first `read` and `subscribe` of a component are used. */
export function useWatched<T>(read: () => T, subscribe: Subscribe): T {
  const [value, setValue] = useState(read)
  useEffect(() => {
    const update = (): void => setValue(read)
    // It may have changed between the first drawing and now.
    update()
    return subscribe(update)
  }, [])
  return value
}

/** The events of an object of the browser, for `useWatched`. */
export function eventsOf(target: EventTarget, name: string): Subscribe {
  return (onEvent) => {
    target.addEventListener(name, onEvent)
    return () => target.removeEventListener(name, onEvent)
  }
}
