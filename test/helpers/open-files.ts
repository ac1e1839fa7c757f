/** What this process has open, as Linux lists it. */
import { readdirSync, readlinkSync } from 'node:fs'

/** Paths of open files in a directory, each as often as it is open. */
export function openFilesIn(directory: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    const path = targetOf(`/proc/self/fd/${fd}`)
    return path.startsWith(`${directory}/`) ? [path] : []
  })
}

/** Empty for a file that has been closed since, as the one that listed the others. */
function targetOf(link: string): string {
  try {
    return readlinkSync(link)
  } catch {
    return ''
  }
}
