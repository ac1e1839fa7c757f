/** The dialog with the keyboard shortcuts. */
import type { RefObject } from 'preact'

const shortcuts: readonly (readonly [keys: string, effect: string])[] = [
  ['1 – 6', 'Now, Picks, Post, Report, Models, Cycles'],
  ['/', 'Search'],
  ['j, k', 'Next and previous row of a list, as ↓ and ↑'],
  ['Enter', 'Open the row'],
  ['Esc', 'Close details, leave the search'],
  ['t', 'Colours: system, light, dark'],
  ['?', 'This list'],
]

export function HelpDialog({ dialogRef }: { readonly dialogRef: RefObject<HTMLDialogElement | null> }) {
  return (
    <dialog class="panel" ref={dialogRef} aria-labelledby="help-title">
      <form method="dialog">
        <h2 id="help-title">Keyboard shortcuts</h2>
        <dl class="facts long">
          {shortcuts.map(([keys, effect]) => (
            <div key={keys}>
              <dt>
                <kbd>{keys}</kbd>
              </dt>
              <dd>{effect}</dd>
            </div>
          ))}
        </dl>
        <p class="muted">All times are Korea Standard Time (KST).</p>
        <button class="button">Close</button>
      </form>
    </dialog>
  )
}
