/** The commands of the documents, as an operator copies them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectDir } from '../helpers/project.js'

/** The first block of commands below a heading. */
export function commandsBelow(heading: string, file = 'docs/install.md'): string {
  const text = readFileSync(join(projectDir, file), 'utf8')
  const start = text.indexOf(`\n${heading}\n`)
  const block = /```sh\n([^]*?)```/.exec(start < 0 ? '' : text.slice(start))?.[1]
  if (block === undefined) throw new Error(`${file} has no commands below "${heading}"`)
  return block
}
