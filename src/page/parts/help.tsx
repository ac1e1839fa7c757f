/** The dialog with the keyboard shortcuts. */
import type { RefObject } from 'preact'
import { t } from '../messages/index.js'

const shortcuts = [
  ['1 – 6', 'views'],
  ['/', 'search'],
  ['j, k', 'rows'],
  ['Enter', 'open'],
  ['Esc', 'escape'],
  ['t', 'theme'],
  ['l', 'language'],
  ['?', 'list'],
] as const

export function HelpDialog({ dialogRef }: { readonly dialogRef: RefObject<HTMLDialogElement | null> }) {
  return (
    <dialog class="panel" ref={dialogRef} aria-labelledby="help-title">
      <form method="dialog">
        <h2 id="help-title">{t.frame.shortcuts}</h2>
        <dl class="facts long">
          {shortcuts.map(([keys, effect]) => (
            <div key={keys}>
              <dt>
                <kbd>{keys}</kbd>
              </dt>
              <dd>{t.help[effect]}</dd>
            </div>
          ))}
        </dl>
        <p class="muted">{t.help.kst}</p>
        <button class="button">{t.help.close}</button>
      </form>
    </dialog>
  )
}
