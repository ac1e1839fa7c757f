/** Small parts that several views use: tiles, facts, badges, commands to copy, placeholders. */
import { Fragment, type ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { ApiError } from '../service/api.js'
import { useNowMs } from '../service/clock.js'
import { sinceStart } from '../format.js'
import { t } from '../messages/index.js'
import { Icon } from './icon.js'

interface Titled {
  readonly title: string
  readonly children?: ComponentChildren
}

export function Panel({ title, children }: Titled) {
  return (
    <section class="panel" aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  )
}

interface TileProps extends Titled {
  readonly value: ComponentChildren
  /** What the value counts. */
  readonly unit?: string | null | undefined
  /** False: they are not shown. */
  readonly facts?: FactsProps['facts'] | false
}

/** A figure with its name and what belongs to it. */
export function Tile({ title, value, unit, facts, children }: TileProps) {
  return (
    <section class="panel tile" aria-label={title}>
      <h2>{title}</h2>
      <p class="figure">
        {value} {unit && <small>{unit}</small>}
      </p>
      {children}
      {facts !== undefined && facts !== false && <Facts facts={facts} />}
    </section>
  )
}

interface TextProps {
  readonly children: string
  readonly isKorean?: boolean
}

/**
 * A text or a name that somebody else has written. It is isolated: characters that change the direction of writing do not
 * reach the text next to it. `isKorean`: of a post, for fonts and screen readers.
 */
export function Text({ children, isKorean = false }: TextProps) {
  return <bdi lang={isKorean ? 'ko' : undefined}>{children}</bdi>
}

export type Fact = readonly [name: string, value: ComponentChildren]

interface FactsProps {
  /** Facts whose value is null are omitted. */
  readonly facts: readonly Fact[]
  /** The values are sentences. */
  readonly isLong?: boolean
}

export function Facts({ facts, isLong = false }: FactsProps) {
  return (
    <dl class={isLong ? 'facts long' : 'facts'}>
      {facts.map(
        ([name, value]) =>
          value !== null && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  )
}

export type Tone = 'ok' | 'warn' | 'fail' | 'plain' | 'accent'

export function Badge({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>
}

/** A command that changes something is copied and run by the operator: the page itself only reads. */
export function Command({ text }: { readonly text: string }) {
  const [isCopied, setIsCopied] = useState(false)
  // Browsers offer it to HTTPS and to this machine only; elsewhere the text is selected by hand.
  const { clipboard } = navigator as { readonly clipboard?: Clipboard }
  const copy = (): void => {
    clipboard?.writeText(text).then(
      () => setIsCopied(true),
      () => setIsCopied(false),
    )
  }
  return (
    <div class="command">
      <code>
        {text.split(' ').map((word, i) => (
          <Fragment key={i}>
            {i > 0 && ' '}
            <span>{word}</span>
          </Fragment>
        ))}
      </code>
      {clipboard !== undefined && (
        <button class="button quiet" type="button" onClick={copy} onBlur={() => setIsCopied(false)}>
          <Icon name="copy" />
          <span class="sr-only">{t.parts.copy(text)}</span>
          <span role="status">{isCopied ? t.parts.copied : ''}</span>
        </button>
      )}
    </div>
  )
}

/** Label of data recorded since the service started; hidden after 24 hours. */
export function Since({ startedAt }: { readonly startedAt: string | null }) {
  const nowMs = useNowMs()
  const since = startedAt === null ? undefined : sinceStart(startedAt, nowMs)
  return since === undefined ? null : <p class="muted">{t.parts.recorded(since)}</p>
}

interface DisclosureProps {
  readonly title: string
  readonly isInitiallyOpen?: boolean
  readonly children: () => ComponentChildren
}

/** Draws its content, and reads its data, while it is open. */
export function Disclosure({ title, isInitiallyOpen = false, children }: DisclosureProps) {
  const [isOpen, setIsOpen] = useState(isInitiallyOpen)
  return (
    <details open={isInitiallyOpen} onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>{title}</summary>
      {isOpen && children()}
    </details>
  )
}

interface MissingProps {
  readonly error: ApiError | null
  readonly what: string
  /** `what` while it is loading, if that takes the service long: with what it does. */
  readonly loading?: string
}

/** A placeholder until data has been read: it is loading, or the request failed. */
export function Missing({ error, what, loading = what }: MissingProps) {
  if (error === null) return <p class="empty">{t.parts.loading(loading)}</p>
  return (
    <p class="notice fail">
      <strong>{t.parts.missing(what)}</strong> {error.message}
    </p>
  )
}

/** One of the nine colours of the style sheet. */
export function colorOf(color: number): string {
  return `var(--color-${color})`
}

export function Swatch({ color }: { readonly color: number }) {
  return <span class="swatch" style={{ background: colorOf(color) }} />
}

export interface BarPart {
  readonly name: string
  readonly value: number
  readonly color: number
}

/** Parts of a whole as one bar. The values are also text elsewhere. */
export function Bar({ parts }: { readonly parts: readonly BarPart[] }) {
  return (
    <div class="bar" aria-hidden="true">
      {parts
        .filter(({ value }) => value > 0)
        .map(({ name, value, color }) => (
          <span key={name} style={{ flexGrow: value, background: colorOf(color) }} title={name} />
        ))}
    </div>
  )
}
