/**
 * The texts of the page in the reader's language. A file has the texts of one subject in every language, side by side; the compiler
 * and a test check that each language has all. `t` is the table in force: read it while drawing, never once for all when a module is
 * loaded.
 */
import { explainWords } from '../../contract/explain-words.js'
import { healthSentences } from '../../contract/health.js'
import { inputWords } from '../../contract/input-words.js'
import { refusalSentences } from '../../contract/refusals.js'
import { reportWords } from '../../contract/report-words.js'
import { warningSentences } from '../../contract/warnings.js'
import { wordOf, words, type WordsLanguage } from '../../contract/words.js'
import * as cycles from './cycles.js'
import * as frame from './frame.js'
import { health, refusals, warningKinds } from './ko-facts.js'
import * as models from './models.js'
import * as now from './now.js'
import * as picks from './picks.js'
import * as post from './post.js'

export const en = {
  ...frame.en,
  ...now.en,
  ...picks.en,
  ...post.en,
  ...models.en,
  ...cycles.en,
  inputs: inputWords.en,
  words: words.en,
  report: reportWords.en,
  explain: explainWords.en,
  warningKinds: warningSentences,
  health: healthSentences,
  refusals: refusalSentences,
}

export type Messages = typeof en

export const ko: Messages = {
  ...frame.ko,
  ...now.ko,
  ...picks.ko,
  ...post.ko,
  ...models.ko,
  ...cycles.ko,
  inputs: inputWords.ko,
  words: words.ko,
  report: reportWords.ko,
  explain: explainWords.ko,
  warningKinds,
  health,
  refusals,
}

const tables: Readonly<Record<WordsLanguage, Messages>> = { en, ko }
export type Language = WordsLanguage
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
