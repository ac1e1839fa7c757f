/**
 * The documentation refers to what exists: its links, the commands and scripts that it shows, and the messages that it quotes.
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { addCommands } from '../src/cli/commands.js'
import { processContext } from '../src/cli/context.js'
import { projectDir } from './helpers/project.js'

const files = ['*.md', 'docs/*.md', 'models/README.md'].flatMap((pattern) =>
  globSync(pattern, { cwd: projectDir }),
)
const pages = new Map(files.map((file) => [file, readFileSync(join(projectDir, file), 'utf8')]))

/** Without blocks of code. */
function proseOf(page: string): string {
  return page.replace(/^ *```[^]*?^ *```/gm, '')
}

/** The text of code: blocks, continued lines joined, and spans. */
function codeLines(page: string): string[] {
  const blocks = [...page.matchAll(/^ *```sh\n([^]*?)^ *```/gm)].map(([, block = '']) => block)
  const spans = [...proseOf(page).matchAll(/`([^`]+)`/g)].map(([, span = '']) => span.replace(/\s+/g, ' '))
  const lines = blocks.flatMap((block) => block.replace(/\\\n\s*/g, '').split('\n'))
  return [...lines.map((line) => line.replace(/\s#.*$/, '')), ...spans]
    .map((line) => line.replace(/\bdocker (compose )?exec \w+ /, ''))
    .filter((line) => !/^\s*(docker run|journalctl|systemctl)\b/.test(line))
}

/** The anchors of a page, as GitHub makes them of its headings. */
function anchorsOf(page: string): Set<string> {
  const headings = [...proseOf(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading)
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}

const program = new Command('understudy')
addCommands(program, processContext())

/** What is wrong with a command line of the program; null if nothing. */
function problemOf(words: readonly string[]): string | null {
  let command = program
  for (const word of words) {
    if (word.startsWith('-')) break
    const child = command.commands.find((one) => one.name() === word)
    if (child === undefined) break
    command = child
  }
  if (command === program) return 'no such command'
  const flags = words.filter((word) => word.startsWith('--')).map((word) => word.replace(/=.*/, ''))
  const known = new Set(['--help', ...command.options.flatMap(({ long }) => long ?? [])])
  return flags.find((flag) => !known.has(flag)) ?? null
}

describe.each([...pages])('%s', (file, page) => {
  test('links to files and headings that exist', () => {
    const links = [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)
    const broken = links.filter((link) => {
      if (/^[a-z]+:/.test(link)) return false
      const [path = '', anchor] = link.split('#')
      const target = path === '' ? file : join(dirname(file), path)
      if (!existsSync(join(projectDir, target))) return true
      return anchor !== undefined && !anchorsOf(pages.get(target) ?? '').has(anchor)
    })
    expect(broken).toEqual([])
  })

  // The changelog names commands that are gone.
  test.skipIf(file === 'CHANGELOG.md')('shows commands of the program with flags that they have', () => {
    const calls = codeLines(page).flatMap((line) =>
      [...line.matchAll(/(?:^|[\s/(])understudy ((?!understudy )[a-z-]+\b[^|;&<>()]*)/g)].map(
        ([, call = '']) => call,
      ),
    )
    const wrong = calls.flatMap((call) => {
      const problem = problemOf(call.replace(/'[^']*'|"[^"]*"/g, 'TEXT').split(/\s+/))
      return problem === null ? [] : [`${call}: ${problem}`]
    })
    expect(wrong).toEqual([])
  })

  test('shows scripts of package.json', () => {
    const { scripts } = JSON.parse(readFileSync(join(projectDir, 'package.json'), 'utf8')) as {
      scripts: object
    }
    const named = codeLines(page).flatMap((line) =>
      [...line.matchAll(/\bnpm run ([\w:-]+)/g)].map(([, name = '']) => name),
    )
    expect(named.filter((name) => !(name in scripts))).toEqual([])
  })
})

test('the runbook and the pages on failures quote messages that the sources have', () => {
  const sources = globSync('src/**/*.ts', { cwd: projectDir })
    .filter((file) => !file.endsWith('.test.ts'))
    .map((file) => readFileSync(join(projectDir, file), 'utf8'))
    .join('\n')
  const quoting = ['operating', 'high-availability', 'reliability', 'models'].map((name) => `docs/${name}.md`)
  const spans = quoting.flatMap((file) => codeLines(pages.get(file) ?? ''))
  // A message has three words or more, in lower case.
  const messages = spans.filter((span) => /^[a-z][a-z]*( [a-z…]+:?){2,}$/.test(span))
  const programs = /^(understudy|npx|npm|select) /
  const quoted = messages.filter((message) => !programs.test(message))
  expect(quoted.length).toBeGreaterThan(8)
  const parts = quoted.flatMap((message) => message.split(/…/).map((part) => part.trim()))
  expect(parts.filter((part) => !sources.includes(part))).toEqual([])
})
