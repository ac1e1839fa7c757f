/** SHA-256 as the manifest writes it. */
import { createHash } from 'node:crypto'

export function sha256Text(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
