/** `1 call`, `1,234 calls`; `count` is written by the caller. */
export function plural(count: number, written: string, noun: string): string {
  return `${written} ${noun}${count === 1 ? '' : 's'}`
}
