/** The frame of a view that is one long list: its heading, and what is next to it or, on a narrow screen, below it. */
import type { ComponentChildren } from 'preact'

interface ListViewProps {
  readonly title: string
  /** Filters, and how many rows there are. */
  readonly head: ComponentChildren
  readonly aside: ComponentChildren
  /** The rows are not the requested ones. */
  readonly isLoading?: boolean
  readonly children: ComponentChildren
}

export function ListView({ title, head, aside, isLoading = false, children }: ListViewProps) {
  return (
    <div class={aside === null ? 'view fills' : 'view fills with-aside'}>
      <div class={isLoading ? 'list is-loading' : 'list'} aria-busy={isLoading}>
        <div class="list-head">
          <h1>{title}</h1>
          {head}
        </div>
        {children}
      </div>
      {aside}
    </div>
  )
}
