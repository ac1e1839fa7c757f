/**
 * Keeps a failure where it is: what cannot be drawn says so in its place, and everything next to it stays. One bad row, as
 * of data that an earlier version stored, must not take a view down.
 */
import { Component, Fragment, type ComponentChildren } from 'preact'
import { t } from '../messages/index.js'

interface GuardedProps {
  /** What is drawn. After a failure, another one is tried again. */
  readonly of: unknown
  readonly draw: () => ComponentChildren
}

interface GuardedState {
  readonly failed: { readonly of: unknown } | null
}

export class Guarded extends Component<GuardedProps, GuardedState> {
  override state: GuardedState = { failed: null }

  override componentDidCatch(error: unknown): void {
    console.warn('a part of the page cannot be shown:', String(error))
    this.setState({ failed: { of: this.props.of } })
  }

  override render({ of, draw }: GuardedProps, { failed }: GuardedState): ComponentChildren {
    if (failed !== null && failed.of === of) return <span class="muted">{t.parts.cannotBeShown}</span>
    return <Drawn draw={draw} />
  }
}

/** A component of its own, because a component does not catch its own errors. */
function Drawn({ draw }: Pick<GuardedProps, 'draw'>) {
  return <Fragment>{draw()}</Fragment>
}
