/**
 * The Korean page has no English that the service could only have said in so many ways: each refusal of the admin listener is
 * in `ko-said.ts`, and nothing else is. Reads the sources.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { koreanOf, saidSentences } from '../../src/page/messages/ko-said.js'
import { projectDir } from '../helpers/server-process.js'

const sourceDir = join(projectDir, 'src')

const sources = readdirSync(sourceDir, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.ts$/.test(name) && !/\.test\.ts$|^page\//.test(name))
  .map((name) => ({
    name,
    source: ts.createSourceFile(
      name,
      readFileSync(join(sourceDir, name), 'utf8'),
      ts.ScriptTarget.Latest,
      true,
    ),
  }))

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

function sentencesIn(isWanted: (node: ts.Node, file: string) => boolean): string[] {
  const found = new Set<string>()
  for (const { name, source } of sources) {
    const visit = (node: ts.Node): void => {
      const sentence = isWanted(node, name) ? sentenceOf(node) : null
      if (sentence !== null) found.add(sentence)
      else ts.forEachChild(node, visit)
    }
    visit(source)
  }
  return [...found]
}

const roomsOfThePage = /^(admin|history)\//

/** The second argument of `new ServiceError` or `new HistoryError`. */
function isMessageOf(callee: RegExp, node: ts.Node): boolean {
  // The compiler's types lack that a source file has no parent.
  const parent = node.parent as ts.Node | undefined
  if (parent === undefined || !(ts.isNewExpression(parent) || ts.isCallExpression(parent))) return false
  return callee.test(parent.expression.getText()) && parent.arguments?.[1] === node
}

const filled = (sentence: string): string => sentence.replaceAll('{}', 'x')
/** What follows is the message of another error. */
const isOpen = (sentence: string): boolean => /^\{\}: \{\}$|^\{\}$/.test(sentence)

describe('in Korean there is', () => {
  test('each refusal of the admin listener and of what reads stored cycles', () => {
    const refusals = sentencesIn(
      (node, file) => roomsOfThePage.test(file) && isMessageOf(/^(Service|History)Error$/, node),
    )
    expect(refusals.length).toBeGreaterThan(20)
    expect(refusals.filter((sentence) => !isOpen(sentence) && koreanOf(filled(sentence)) === null)).toEqual(
      [],
    )
  })
})

test('every sentence of the table is one that the service says', () => {
  const all = sentencesIn((node) => sentenceOf(node) !== null)
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

test('what the service fills in is kept, and translated where it is a sentence of its own', () => {
  expect(koreanOf('the data directory has no cycle 20260302T1255: it has no cycles')).toBe(
    '저장되지 않은 cycle입니다: 20260302T1255(저장된 cycle이 없음)',
  )
  expect(koreanOf('limit must be an integer from 1 to 500')).toBe(
    'limit 값은 1에서 500 사이의 정수여야 합니다',
  )
})
