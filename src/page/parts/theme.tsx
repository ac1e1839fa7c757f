/**
 * Dark or light: that of the system, or what the reader has chosen. The style sheet does the rest by `color-scheme`.
 */
import { t } from '../messages/index.js'
import { Topic, useWatched } from '../service/topic.js'
import { Icon } from './icon.js'

type Theme = 'system' | 'light' | 'dark'

const storageKey = 'understudy-theme'
const order: readonly Theme[] = ['system', 'light', 'dark']
const changed = new Topic<[]>()
let version = 0
changed.on(() => version++)

/** Call it before the page is drawn. */
export function applyReadersTheme(): void {
  applyTheme(savedTheme())
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => changed.emit())
}

function savedTheme(): Theme {
  const saved = localStorage.getItem(storageKey)
  return order.find((theme) => theme === saved) ?? 'system'
}

function applyTheme(theme: Theme): void {
  document.documentElement.dataset['theme'] = theme
  localStorage.setItem(storageKey, theme)
  changed.emit()
}

/** Increases with each change of the colours: charts are drawn again. */
export function useThemeVersion(): number {
  return useWatched(
    () => version,
    (onChange) => changed.on(onChange),
  )
}

export function nextTheme(): void {
  applyTheme(order[(order.indexOf(savedTheme()) + 1) % order.length] ?? 'system')
}

export function ThemeButton() {
  useThemeVersion()
  const theme = savedTheme()
  return (
    <button class="button quiet" type="button" onClick={nextTheme} title={t.frame.themes}>
      <Icon name={theme === 'light' ? 'sun' : theme === 'dark' ? 'moon' : 'half'} />
      <span class="sr-only">{t.frame.changeTheme(t.frame.theme[theme])}</span>
    </button>
  )
}
