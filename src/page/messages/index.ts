/**
 * The texts of the page in the reader's language. `en.tsx` is the table; `ko.tsx` has the same members, which the compiler and a
 * test check. `t` is the table in force: read it while drawing, never once for all when a module is loaded.
 */
import { wordOf } from '../../contract/words.js'
import { en, type Messages } from './en.js'
import { ko } from './ko.js'

export type { Messages }

const tables = { en, ko }
export type Language = keyof typeof tables
export const languages = Object.keys(tables) as Language[]

export let language: Language = 'en'
export let t: Messages = en

export function setLanguage(chosen: Language): void {
  language = chosen
  t = tables[chosen]
}

/** The first of the languages that a reader prefers, such as `ko-KR`, that the page has. */
export function languageOf(preferred: readonly string[]): Language {
  for (const tag of preferred) {
    const known = languages.find((one) => tag.toLowerCase().split('-')[0] === one)
    if (known !== undefined) return known
  }
  return 'en'
}

/** An identifier of the API, such as `missing_title`, in words of the reader's language. */
export function word(name: string): string {
  return wordOf(t.words, name)
}
