/** The table of why calls failed has no sentence that the service does not say. Reads the sources. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { koreanOf, saidSentences } from '../../src/page/messages/ko-said.js'
import { projectDir } from '../helpers/server-process.js'

const sourceDir = join(projectDir, 'src')

const sources = readdirSync(sourceDir, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.ts$/.test(name) && !/\.test\.ts$|^page\//.test(name))
  .map((name) =>
    ts.createSourceFile(name, readFileSync(join(sourceDir, name), 'utf8'), ts.ScriptTarget.Latest, true),
  )

/** A string with `{}` for what the program fills in; null for another expression. */
function sentenceOf(node: ts.Node): string | null {
  if (ts.isStringLiteralLike(node)) return node.text
  if (ts.isTemplateExpression(node))
    return node.head.text + node.templateSpans.map(({ literal }) => `{}${literal.text}`).join('')
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken) {
    const [left, right] = [sentenceOf(node.left), sentenceOf(node.right)]
    return left === null || right === null ? null : left + right
  }
  return null
}

function allSentences(): string[] {
  const found = new Set<string>()
  for (const source of sources) {
    const visit = (node: ts.Node): void => {
      const sentence = sentenceOf(node)
      if (sentence !== null) found.add(sentence)
      else ts.forEachChild(node, visit)
    }
    visit(source)
  }
  return [...found]
}

test('every sentence of the table is one that the service says', () => {
  const all = allSentences()
  const pattern = (sentence: string): RegExp =>
    new RegExp(
      `^${sentence
        .split('{}')
        .map((piece) => piece.replace(/[^\w ]/g, '\\$&'))
        .join('.*')}$`,
    )
  const isSaid = (sentence: string): boolean => {
    const own = sentence.replace(/\{\}: \{\}$/, '')
    return all.some((text) => text === own || pattern(sentence).test(text))
  }
  expect(saidSentences.filter((sentence) => !isSaid(sentence))).toEqual([])
})

test('what the service fills in is kept', () => {
  expect(koreanOf('the body is larger than 12 bytes')).toBe('본문이 12바이트보다 큽니다')
  expect(koreanOf('something new')).toBeNull()
})
