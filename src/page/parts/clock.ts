/** The time of the service, for ages that count up, and media queries. */
import { useEffect, useState } from 'preact/hooks'
import { serverNowMs } from '../service/clock.js'

/** Milliseconds since 1970, renewed every second while somebody looks. */
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

export function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches)
  useEffect(() => {
    const media = matchMedia(query)
    const onChange = (): void => setMatches(media.matches)
    onChange()
    media.addEventListener('change', onChange)
    return () => media.removeEventListener('change', onChange)
  }, [query])
  return matches
}
