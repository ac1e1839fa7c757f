/** Every text of the page exists in every language. `test/page-texts.test.ts`: it is used, and it is the only one. */
import { afterEach, expect, test } from 'vitest'
import { en, ko, languageOf, setLanguage, t, word } from './index.js'

afterEach(() => setLanguage('en'))

/** What a message says to sample arguments, by its path, such as `picks.rank`. */
function texts(table: object, path = ''): [path: string, text: string][] {
  return Object.entries(table).flatMap(([name, value]: [string, unknown]): [string, string][] => {
    const at = path === '' ? name : `${path}.${name}`
    if (typeof value === 'string') return [[at, value]]
    if (typeof value === 'function') return [[at, textOf((value as Message)(...samples(value as Message)))]]
    return texts(value as object, at)
  })
}

type Message = (...args: unknown[]) => unknown

/** Numbers that are also texts: `1` is the singular of English. */
function samples({ length }: Message): string[] {
  return Array.from({ length }, (_, i) => String(i + 2))
}

/** The text of a string or of elements of Preact. */
function textOf(node: unknown): string {
  if (typeof node === 'string' || typeof node === 'number') return String(node)
  if (Array.isArray(node)) return node.map(textOf).join('')
  const { props } = (node ?? {}) as { readonly props?: { readonly children?: unknown } }
  return props === undefined ? '' : textOf(props.children)
}

const english = texts(en)
const korean = texts(ko)

test('each language has every message, and no message is empty', () => {
  expect(korean.map(([path]) => path)).toEqual(english.map(([path]) => path))
  const empty = [...english, ...korean].filter(([, text]) => text.trim() === '').map(([path]) => path)
  // In English it is the message that it has, which no sample has.
  expect(empty).toEqual(['refusals.history_failed'])
})

/** Contract terms, names of figures, units, and what has only arguments. */
const untranslated = [
  /^(words\.cycle|cycles\.cycle|post\.cycle|frame\.cycles|data\.cycles|models\.cycles|report\.cycles|explain\.cycle|cycles\.cycleTitle|cycles\.ofCycle)$/,
  /^units\.(kst|range|points|countOf|ofCount)$/,
  /^(language\.(tag|other)|frame\.reason)$/,
  /^now\.(dueAt|failed)$/,
  /^models\.cycleRange$/,
  /^inputs\.(forms\.count|measures\.laughs)$/,
  /^report\.(ndcg|earlierP90)$/,
]

test('Korean messages are Korean, except for the terms that stay', () => {
  const foreign = korean.filter(([, text]) => !/[가-힣]/.test(text)).map(([path]) => path)
  expect(foreign.filter((path) => !untranslated.some((pattern) => pattern.test(path)))).toEqual([])
  expect(english.filter(([path, text]) => /[가-힣]/.test(text) && !/language/.test(path))).toEqual([])
})

/** Words in names of messages, and what the Korean text of such a message contains. */
const terms: readonly (readonly [inName: RegExp, term: RegExp])[] = [
  [/^saved|^saves/, /등록/],
  [/^hidden/, /숨김/],
  [/deleted/i, /삭제/],
  [/^aged/, /기한 경과/],
  [/^up(_|$)/, /(?<!비)추천/],
  [/^down(_|$)/, /비추천/],
  [/comments?(_|$)/, /댓글/],
  [/^rtb/, /실베추/],
  [/engagement/, /반응 수치/],
  [/candidate_scores|snapshot/, /스냅숏/],
  [/removals?(_|$)|removed/, /제외/],
  [/(^|_)images?(_|$)/, /이미지/],
  [/^text_|^body_/, /본문/],
  [/weights/, /가중치/],
  [/^late(?!n)/, /지연|늦/],
  [/^better$/, /우세/],
  [/^worse$/, /열세/],
]

test('a Korean text has the term of the outcome, counter or field that its name has', () => {
  const other = korean.filter(([path, text]) =>
    terms.some(([inName, term]) => inName.test(path.split('.').at(-1) ?? '') && !term.test(text)),
  )
  expect(other).toEqual([])
})

test('no Korean particle whose form depends on the sound before it follows a value', () => {
  // A member of an argument is undefined in the samples.
  const particle = /(undefined|(?<![\d-])[2-9])(은|는|이|가|을|를|과|와|으로|로)(?![가-힣])/
  const wrong = korean.filter(([, text]) => particle.test(text)).map(([path]) => path)
  // Its value ends in a unit.
  expect(wrong).toEqual(['report.reading'])
})

test('each message takes the same arguments in both languages, or leaves out what its grammar does not need', () => {
  const arities = (table: object): Record<string, number> =>
    Object.fromEntries(messagesOf(table).map(([path, message]) => [path, message.length]))
  const [english, korean] = [arities(en), arities(ko)]
  expect(Object.entries(korean).filter(([path, arity]) => arity > (english[path] ?? -1))).toEqual([])
})

function messagesOf(table: object, path = ''): [string, Message][] {
  return Object.entries(table).flatMap(([name, value]: [string, unknown]): [string, Message][] => {
    if (typeof value === 'function') return [[`${path}${name}`, value as Message]]
    return typeof value === 'object' ? messagesOf(value!, `${path}${name}.`) : []
  })
}

test('the language is the first that the reader prefers and the page has, else English', () => {
  expect(languageOf(['ko-KR', 'en-US'])).toBe('ko')
  expect(languageOf(['fr', 'EN-gb', 'ko'])).toBe('en')
  expect(languageOf(['kok', 'fr'])).toBe('en')
})

test('identifiers are written in words of the language in force; unknown ones stay readable', () => {
  expect(word('missing_title')).toBe('missing title')
  setLanguage('ko')
  expect([t.frame.picks, word('missing_title'), word('a_new_reason')]).toEqual([
    ...['모델 순위', '제목 없음', 'a new reason'],
  ])
  expect(word('constructor')).toBe('constructor')
})
