/**
 * The frame around the views: navigation, state of the service and of the connection, shortcuts, announcements.
 */
import type { JSX } from 'preact'
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { Now } from './service/api.js'
import { useConnectionState, useEvent, type ConnectionState } from './service/connection.js'
import { useQuery, type Query } from './service/query.js'
import { clockSeconds, cycleLabel, integer } from './format.js'
import { HelpDialog } from './parts/help.js'
import { Icon } from './parts/icon.js'
import { nextTheme, ThemeButton } from './parts/theme.js'
import { isTyping } from './parts/typing.js'
import { Cycles } from './views/cycles.js'
import { Models } from './views/models.js'
import { NowView } from './views/now.js'
import { Picks } from './views/picks.js'
import { PostView } from './views/post.js'
import { Report } from './views/report.js'
import { useAddress, type Address, type ViewName } from './router.js'

interface View {
  readonly name: ViewName
  readonly title: string
  readonly draw: (address: Address, now: Query<Now>) => JSX.Element
}

/** In the order of the navigation; the number keys open them. */
const views: readonly View[] = [
  { name: 'now', title: 'Now', draw: (_, now) => <NowView query={now} /> },
  { name: 'picks', title: 'Picks', draw: () => <Picks /> },
  { name: 'posts', title: 'Post', draw: ({ segments }) => <PostView segments={segments} /> },
  { name: 'report', title: 'Report', draw: () => <Report /> },
  { name: 'models', title: 'Models', draw: () => <Models /> },
  { name: 'cycles', title: 'Cycles', draw: () => <Cycles /> },
]

/** Disk, memory and queue change without events. */
const nowMs = 10_000

export function App() {
  const address = useAddress()
  const connectionState = useConnectionState()
  const now = useQuery<Now>('/api/now', { refreshOn: ['cycle', 'status', 'models'], everyMs: nowMs })
  const isStale = connectionState === 'lost' || connectionState === 'denied'
  const helpRef = useRef<HTMLDialogElement>(null)
  const view = views.find(({ name }) => name === address.view)
  useShortcuts(useCallback(() => helpRef.current?.showModal(), []))
  useEffect(() => {
    document.title = `${view?.title ?? ''} · Understudy`
  }, [view])
  return (
    <div class={isStale ? 'frame is-stale' : 'frame'}>
      <a class="skip" href="#main" onClick={focusMain}>
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href="#/now">
          <Icon name="picks" /> Understudy
        </a>
        <ServiceState now={now} connectionState={connectionState} />
        <div class="tools">
          <ThemeButton />
          <button class="button quiet" type="button" onClick={() => helpRef.current?.showModal()}>
            <span aria-hidden="true">?</span>
            <span class="sr-only">Keyboard shortcuts</span>
          </button>
        </div>
      </header>
      <nav class="views" aria-label="Views">
        {views.map(({ name, title }) => (
          <a key={name} href={`#/${name}`} aria-current={name === address.view ? 'page' : undefined}>
            <Icon name={name} />
            <span>{title}</span>
          </a>
        ))}
      </nav>
      <main id="main" tabIndex={0}>
        {isStale && <StaleNotice state={connectionState} loadedAtMs={now.loadedAtMs} />}
        {view?.draw(address, now)}
      </main>
      <HelpDialog dialogRef={helpRef} />
      <Announcements now={now.data} connectionState={connectionState} />
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

const connectionWords: Readonly<Record<ConnectionState, string>> = {
  connecting: 'connecting',
  live: 'live',
  lost: 'no connection',
  denied: 'signed out',
}

function ServiceState({ now: { data }, connectionState }: StateProps) {
  const isKnown = data !== null && connectionState !== 'lost' && connectionState !== 'denied'
  return (
    <p class="service-state">
      {isKnown && (
        <span class={`badge ${data.status === 'ok' ? 'ok' : 'fail'}`}>
          {data.status === 'ok' ? 'working' : 'degraded'}
        </span>
      )}
      <span class={`link ${connectionState}`}>{connectionWords[connectionState]}</span>
    </p>
  )
}

function StaleNotice({
  state,
  loadedAtMs,
}: {
  readonly state: ConnectionState
  readonly loadedAtMs: number | null
}) {
  const since = loadedAtMs === null ? '' : ` What is shown is from ${clockSeconds(loadedAtMs)} KST.`
  return (
    <p class="notice fail" data-notice="stale">
      {state === 'denied' ? (
        <>
          <strong>The service does not accept this session.</strong>
          {since} Open the address with the token that the service prints at its start.
        </>
      ) : (
        <>
          <strong>No connection to the service.</strong>
          {since} Trying again.
        </>
      )}
    </p>
  )
}

/** For screen readers: changes of state and new cycles. */
function Announcements({
  now,
  connectionState,
}: {
  readonly now: Now | null
  readonly connectionState: ConnectionState
}) {
  const [text, setText] = useState('')
  const status = now?.status
  useEffect(() => {
    if (connectionState !== 'connecting') setText(`Connection: ${connectionWords[connectionState]}`)
  }, [connectionState])
  useEffect(() => {
    if (status !== undefined) setText(status === 'ok' ? 'The service works' : 'The service is degraded')
  }, [status])
  useEvent(
    'cycle',
    useCallback(
      ({ cycle_id, counts }) =>
        setText(`Cycle ${cycleLabel(cycle_id)}: ${integer(counts.scored_now)} posts scored`),
      [],
    ),
  )
  return (
    <p class="sr-only" role="status">
      {text}
    </p>
  )
}

function useShortcuts(showHelp: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      const view = /^[1-9]$/.test(event.key) ? views[Number(event.key) - 1] : undefined
      const search = document.querySelector<HTMLInputElement>('input[type=search]')
      if (view !== undefined) location.hash = `#/${view.name}`
      else if (event.key === '?') showHelp()
      else if (event.key === 't') nextTheme()
      else if (event.key === '/' && search !== null) {
        event.preventDefault()
        search.focus()
      }
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [showHelp])
}
