/**
 * The frame around the views: navigation, state of the service and of the connection, shortcuts, announcements.
 */
import type { JSX } from 'preact'
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Now } from './service/api.js'
import { serverNowMs, useNowMs } from './service/clock.js'
import { useConnectionState, useEvent, type ConnectionState } from './service/connection.js'
import { useQuery, type Query } from './service/query.js'
import { clockSeconds, counted, cycleLabel } from './format.js'
import { t } from './messages/index.js'
import { Badge, Text } from './parts/common.js'
import { Guarded } from './parts/guarded.js'
import { HelpDialog } from './parts/help.js'
import { Icon } from './parts/icon.js'
import { isShortcut, useKeys } from './parts/keys.js'
import { LanguageButton, nextLanguage, useLanguage } from './parts/language.js'
import { nextTheme, ThemeButton } from './parts/theme.js'
import { StaleNotices } from './parts/stale.js'
import { Cycles } from './views/cycles.js'
import { worstOf } from './views/health.js'
import { Models } from './views/models.js'
import { NowView } from './views/now.js'
import { Picks } from './views/picks.js'
import { PostView } from './views/post.js'
import { Report } from './views/report.js'
import { useAddress, type Address, type ViewName } from './router.js'

interface View {
  readonly name: ViewName
  readonly draw: (address: Address, now: Query<Now>) => JSX.Element
}

/** Ordered as in the navigation; the number keys open them. */
const views: readonly View[] = [
  { name: 'now', draw: (_, now) => <NowView query={now} /> },
  { name: 'picks', draw: () => <Picks /> },
  { name: 'posts', draw: ({ segments }) => <PostView segments={segments} /> },
  { name: 'report', draw: () => <Report /> },
  { name: 'models', draw: () => <Models /> },
  { name: 'cycles', draw: () => <Cycles /> },
]

/** Disk, memory and queue change without events. */
const refreshMs = 10_000

export function App() {
  // Labels are computed once in many places: another language starts anew.
  return <Frame key={useLanguage()} />
}

function Frame() {
  const address = useAddress()
  const connectionState = useConnectionState()
  const now = useQuery<Now>('/api/now', { refreshOn: ['cycle', 'status', 'models'], everyMs: refreshMs })
  const isStale = connectionState === 'lost' || connectionState === 'denied'
  const helpRef = useRef<HTMLDialogElement>(null)
  const view = views.find(({ name }) => name === address.view)
  const showHelp = (): void => helpRef.current?.showModal()
  useKeys((event) => handleKey(event, showHelp))
  useEffect(() => {
    document.title = `${t.frame[address.view]} · Understudy`
  }, [address.view])
  useFocusOnHeading(`${address.view} ${address.segments.join(' ')}`)
  return (
    <div class={isStale ? 'frame is-stale' : 'frame'}>
      <a class="skip sr-only" href="#main" onClick={focusMain}>
        {t.frame.skip}
      </a>
      <header class="top">
        <a class="brand" href="#/now">
          <Icon name="picks" /> <span>Understudy</span>
        </a>
        <ServiceState now={now} connectionState={connectionState} />
        <div class="tools">
          <LanguageButton />
          <ThemeButton />
          <button class="button quiet" type="button" onClick={showHelp}>
            <span aria-hidden="true">?</span>
            <span class="sr-only">{t.frame.shortcuts}</span>
          </button>
        </div>
      </header>
      <nav class="navigation" aria-label={t.frame.views}>
        {views.map(({ name }) => (
          <a
            key={name}
            class="button quiet"
            href={`#/${name}`}
            aria-current={name === address.view ? 'page' : undefined}
          >
            <Icon name={name} />
            <span>{t.frame[name]}</span>
          </a>
        ))}
      </nav>
      <main id="main" tabIndex={0}>
        {isStale && <StaleNotice state={connectionState} loadedAtMs={now.loadedAtMs} />}
        <StaleNotices />
        {view !== undefined && <Guarded of={address} draw={() => view.draw(address, now)} />}
      </main>
      <HelpDialog dialogRef={helpRef} />
      <Announcements now={now} connectionState={connectionState} />
    </div>
  )
}

function focusMain(event: Event): void {
  event.preventDefault()
  document.getElementById('main')?.focus()
}

interface StateProps {
  readonly now: Query<Now>
  readonly connectionState: ConnectionState
}

function ServiceState({ now: { data }, connectionState }: StateProps) {
  const isKnown = data !== null && connectionState !== 'lost' && connectionState !== 'denied'
  const nowMs = useNowMs()
  const worst = isKnown ? worstOf(data, nowMs) : null
  return (
    <p class="service-state">
      {worst !== null && (
        <a class="health clip" href="#/now" title={worst.text}>
          <Badge tone={worst.status}>{t.frame[worst.status]}</Badge>{' '}
          <span class="reason">
            <Text>{worst.text}</Text>
          </span>
        </a>
      )}
      <span class={`link ${connectionState}`}>{t.frame[connectionState]}</span>
    </p>
  )
}

interface StaleProps {
  readonly state: ConnectionState
  readonly loadedAtMs: number | null
}

function StaleNotice({ state, loadedAtMs }: StaleProps) {
  const since = loadedAtMs === null ? '' : ` ${t.frame.shownFrom(clockSeconds(loadedAtMs))}`
  return (
    <p class="notice fail" data-notice="stale">
      <strong>{state === 'denied' ? t.frame.deniedLong : t.frame.lostLong}</strong>
      {since} {state === 'denied' ? t.frame.openAgain : t.frame.tryAgain}
    </p>
  )
}

/** Changes of state and new cycles, for screen readers. */
function Announcements({ now: { data }, connectionState }: StateProps) {
  const [text, setText] = useState('')
  const worst = data === null ? null : worstOf(data, serverNowMs())
  // The reason has an age that counts up.
  const status = worst?.status
  useEffect(() => {
    if (connectionState !== 'connecting') setText(t.frame.connectionIs(t.frame[connectionState]))
  }, [connectionState])
  useEffect(() => {
    if (worst !== null) setText(t.frame.serviceIs(t.frame[worst.status], worst.text))
  }, [status])
  useEvent(
    'cycle',
    useCallback(
      ({ cycle_id, counts }) =>
        setText(
          counted(counts.scored_now, (count, digits) => t.frame.cycleIs(cycleLabel(cycle_id), count, digits)),
        ),
      [],
    ),
  )
  return (
    <p class="sr-only" role="status">
      {text}
    </p>
  )
}

/** After a change of the address the focus is on the heading of the view, so that Tab and screen readers begin there. */
function useFocusOnHeading(address: string): void {
  const isFirst = useRef(true)
  useLayoutEffect(() => {
    if (isFirst.current) {
      isFirst.current = false
      return
    }
    const heading = document.querySelector<HTMLElement>('main h1')
    if (heading === null) return
    heading.tabIndex = -1
    heading.focus()
  }, [address])
}

function handleKey(event: KeyboardEvent, showHelp: () => void): void {
  if (!isShortcut(event)) return
  const view = views[Number(event.key) - 1]
  const search = document.querySelector<HTMLInputElement>('input[type=search]')
  if (view !== undefined) location.hash = `#/${view.name}`
  else if (event.key === '?') showHelp()
  else if (event.key === 't') nextTheme()
  else if (event.key === 'l') nextLanguage()
  else if (event.key === '/' && search !== null) {
    event.preventDefault()
    search.focus()
  }
}
