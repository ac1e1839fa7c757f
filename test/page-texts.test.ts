/**
 * The texts of the operators' page are in its messages alone: no other file of the page has a text of its own, and every message
 * is used. Reads the sources.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { projectDir } from './helpers/project.js'

const pageDir = join(projectDir, 'src/page')

/** Every file of the page but its messages and tests. */
const sources = readdirSync(pageDir, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name) && !/\.test\.|^messages\/|\.d\.ts$/.test(name))
  .map((name) => ({ name, text: readFileSync(join(pageDir, name), 'utf8') }))

const parse = (name: string, text: string): ts.SourceFile =>
  ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX)

/** These are looked up by the codes and identifiers of the service, and put together from names of features. */
const byCode = ['words', 'inputs', 'warningKinds', 'health', 'refusals']

test('every message is used, by the page or by a table of the contract', async () => {
  const tables = ['explain-tables', 'report-tables'].map((name) =>
    readFileSync(join(projectDir, `src/contract/${name}.ts`), 'utf8'),
  )
  const all = [...sources.map(({ text }) => text), ...tables].join('\n')
  // Its types are those of the page's own project.
  const { en } = (await import(join(pageDir, 'messages/index.ts'))) as { en: Record<string, object> }
  const views = Object.entries(en).filter(([group]) => !byCode.includes(group))
  const names = views.flatMap(([, messages]) => Object.keys(messages))
  expect(names.length).toBeGreaterThan(200)
  expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(all))).toEqual([])
})

const brand = 'Understudy'

/** Attributes and properties that readers see or hear. */
const spoken = /^(title|label|aria-label|placeholder|alt|caption|what|unit|name)$/

test('no file of the page has a text of its own', () => {
  const found = sources.flatMap(({ name, text }) => literalTexts(name, text))
  expect(found).toEqual([])
})

function literalTexts(name: string, text: string): string[] {
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isJsxText(node) && /\p{L}/u.test(node.text) && node.text.trim() !== brand)
      found.push(`${name}: ${node.text.trim()}`)
    if (isSpoken(node)) found.push(`${name}: ${node.getText()}`)
    ts.forEachChild(node, visit)
  }
  visit(parse(name, text))
  return found
}

/** A string with words, where readers meet it. */
function isSpoken(node: ts.Node): boolean {
  if (!ts.isStringLiteralLike(node) && !ts.isTemplateExpression(node)) return false
  const words = ts.isStringLiteralLike(node) ? node.text : node.getText().replace(/\$\{.*?\}/gs, '')
  if (ts.isJsxExpression(node.parent) || ts.isConditionalExpression(node.parent)) {
    const attribute = node.parent.parent
    const isText = !ts.isJsxAttribute(attribute) && isInJsxChild(node)
    if (isText && /\p{L}{2}/u.test(words)) return true
  }
  const owner = node.parent
  if (ts.isJsxAttribute(owner)) return spoken.test(owner.name.getText()) && /[A-Z]|\s/.test(words)
  if (ts.isPropertyAssignment(owner)) return spoken.test(owner.name.getText()) && /[A-Z]|\p{L} /u.test(words)
  return false
}

/** Whether an expression is content of an element, not the value of an attribute. */
function isInJsxChild(node: ts.Node): boolean {
  for (let at: ts.Node = node; ; at = at.parent) {
    if (ts.isJsxExpression(at)) return ts.isJsxElement(at.parent) || ts.isJsxFragment(at.parent)
    if (!ts.isConditionalExpression(at) && at !== node) return false
  }
}

test('a text in a view is found, whatever its form', () => {
  const bad = [
    '<p>Text</p>',
    "<p>{a ? 'some text' : null}</p>",
    '<p title="Some text" />',
    '<p>{`${n} posts`}</p>',
  ]
  for (const jsx of bad) expect(literalTexts('x', `const x = (${jsx})`)).toHaveLength(1)
  expect(literalTexts('x', "const column = { title: 'Rank' }")).toHaveLength(1)
  const good = ['<p class="some classes">{t.now.took} · {n}</p>', "<p lang={k ? 'ko' : undefined} />"]
  for (const jsx of good) expect(literalTexts('x', `const x = (${jsx})`)).toEqual([])
})

/** The sources with Korean texts, apart from comments. */
const koreanSources = [
  ...readdirSync(join(pageDir, 'messages')).map((name) => `src/page/messages/${name}`),
  ...readdirSync(join(projectDir, 'src/contract')).map((name) => `src/contract/${name}`),
  'src/admin/login-page.ts',
]
  .filter((name) => /\.tsx?$/.test(name) && !name.includes('.test.'))
  .flatMap((name) => parse(name, readFileSync(join(projectDir, name), 'utf8')))
  .flatMap(koreanTexts)

function koreanTexts(node: ts.Node): string[] {
  const isText = ts.isStringLiteralLike(node) || ts.isJsxText(node) || ts.isTemplateExpression(node)
  if (isText && /[가-힣]/.test(node.getText())) return [node.getText()]
  const found: string[] = []
  ts.forEachChild(node, (child) => void found.push(...koreanTexts(child)))
  return found
}

test('Korean texts have the words of the glossary, and none that it declines', () => {
  const [, section = ''] = readFileSync(join(projectDir, 'docs/glossary.md'), 'utf8').split(
    '\n## In Korean\n',
  )
  const rows = [...section.matchAll(/^\| (.+?) +\| (.+?) +\| (.+?) +\|$/gm)]
    .map(([, , korean = '', declined = '']) => ({
      korean,
      declined: declined.replaceAll('`', '').split(', '),
    }))
    .filter(({ korean }) => /[가-힣]/.test(korean))
  expect(rows.length).toBeGreaterThan(20)
  const all = koreanSources.join('\n')
  expect(rows.filter(({ korean }) => !all.includes(korean))).toEqual([])
  const declined = rows.flatMap((row) => row.declined)
  expect(koreanSources.filter((text) => declined.some((word) => text.includes(word)))).toEqual([])
})

test('Korean brackets follow their word without a space', () => {
  expect(koreanSources.filter((text) => /[가-힣\w}] \([^)]*[가-힣][^)]*\)/.test(text))).toEqual([])
})
