// How Vite reads src/page, for the build as for `npm run dev`.
import { fileURLToPath } from 'node:url'

export const pageConfig = {
  configFile: false,
  root: fileURLToPath(new URL('../src/page', import.meta.url)),
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
}
