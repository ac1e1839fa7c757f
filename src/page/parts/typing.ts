/** Whether a key press is meant for a field, and not a shortcut. */

export function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('input, select, textarea, dialog') !== null
}
