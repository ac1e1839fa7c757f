/**
 * The time of the service. Ages, staleness and what is due are computed from it: the clock of the reader's machine may be
 * wrong.
 */
import { useEffect, useState } from 'preact/hooks'

let offsetMs = 0

/** `timeMs`: what the clock of the service shows now. */
export function setServerTime(timeMs: number): void {
  offsetMs = timeMs - Date.now()
}

/** Milliseconds since 1970. */
export function serverNowMs(): number {
  return Date.now() + offsetMs
}

/** Milliseconds since 1970, renewed every second while the tab is visible. */
export function useNowMs(): number {
  const [nowMs, setNowMs] = useState(serverNowMs)
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setNowMs(serverNowMs())
    }, 1000)
    return () => clearInterval(timer)
  }, [])
  return nowMs
}
