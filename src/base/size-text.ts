/**
 * Human-readable sizes of files and memory.
 */
import { kibibyte } from './units.js'

const units = ['KiB', 'MiB', 'GiB', 'TiB']

/** `910 B`, `4.2 KiB`, `37 MiB`. */
export function sizeText(bytes: number): string {
  if (bytes < kibibyte) return `${bytes} B`
  let size = bytes
  let unit = ''
  for (const next of units) {
    // 1024 of a unit is shown as 1 of the next.
    if (Math.round(size) < kibibyte) break
    size /= kibibyte
    unit = next
  }
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${unit}`
}
