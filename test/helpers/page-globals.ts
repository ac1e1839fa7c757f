/** What the modules of the page read of a browser when they are loaded and rendered to a string. Import it first. */
import { vi } from 'vitest'

vi.stubGlobal('matchMedia', () => ({ matches: false, addEventListener: () => undefined }))
vi.stubGlobal('location', { hash: '' })
vi.stubGlobal('localStorage', { getItem: () => null })
vi.stubGlobal('reportError', (error: unknown) => {
  throw error
})
