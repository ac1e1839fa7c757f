/** The language of the page: that of the browser, or what the reader has chosen. A change draws the whole page anew. */
import { language, languageOf, languages, setLanguage, t } from '../messages/index.js'
import { Topic, useWatched } from '../service/topic.js'

const storageKey = 'understudy-language'
const changed = new Topic<[]>()

/** Call it before the page is drawn. */
export function applyReadersLanguage(): void {
  const saved = localStorage.getItem(storageKey)
  apply(languageOf([...(saved === null ? [] : [saved]), ...navigator.languages]))
}

export function nextLanguage(): void {
  const next = languages[(languages.indexOf(language) + 1) % languages.length] ?? 'en'
  localStorage.setItem(storageKey, next)
  apply(next)
  changed.emit()
}

function apply(chosen: typeof language): void {
  setLanguage(chosen)
  document.documentElement.lang = t.language.tag
}

export function useLanguage(): typeof language {
  return useWatched(
    () => language,
    (onChange) => changed.on(onChange),
  )
}

export function LanguageButton() {
  return (
    <button class="button quiet" type="button" onClick={nextLanguage} title={t.help.language}>
      <span aria-hidden="true">{t.language.other}</span>
      <span class="sr-only">{t.language.change}</span>
    </button>
  )
}
