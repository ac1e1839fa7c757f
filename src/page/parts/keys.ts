/** Key presses on the whole page. */
import { useLayoutEffect } from 'preact/hooks'

/** Calls `onKey` for each key press, from the moment in which the component is shown: an effect after painting would be late. */
export function useKeys(onKey: (event: KeyboardEvent) => void): void {
  useLayoutEffect(() => {
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  })
}

/** Whether a key press is a shortcut: not meant for a field, and without Ctrl, Meta or Alt. */
export function isShortcut({ target, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  if (ctrlKey || metaKey || altKey) return false
  return !(target instanceof Element) || target.closest('input, select, textarea, dialog') === null
}
