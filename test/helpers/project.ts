/** Where the project is. */
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

export const projectDir = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
