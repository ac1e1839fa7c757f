/** Draws the page and connects to the service. */
import { render } from 'preact'
import { App } from './app.js'
import { connection } from './service/connection.js'
import { applyReadersLanguage } from './parts/language.js'
import { applyReadersTheme } from './parts/theme.js'

applyReadersTheme()
applyReadersLanguage()
connection.open()
const root = document.getElementById('page')
if (root !== null) render(<App />, root)
