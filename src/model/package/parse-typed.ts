/**
 * Parses the JSON files of a package into their types, and words the errors of typia's validators: what each value must
 * be, from typia's text of its type, such as `(number & Type<"uint32"> & Minimum<1>)`.
 */
import type { IValidation } from 'typia'
import { ModelError } from '../model.js'

/** A longer list would not help the author. */
const problemsMax = 50
const valueCharsMax = 200

/** Types in words; the first form that matches counts. `$1` and `$2` are the numbers of its tags. */
const typeWords: readonly (readonly [form: RegExp, words: string])[] = [
  [/Pattern<"\^\[0-9a-f\]/, 'a SHA-256 of 64 lower-case hexadecimal digits'],
  [/Pattern<"\^\[A-Z.*\//, 'a file of the package, such as head.onnx or text/model.onnx'],
  [/Pattern<"\^\[A-Z/, 'a name of letters, digits, ".", "_" and "-" that begins with a letter or a digit'],
  [/Pattern<"\[\{\]title/, 'a text that holds {title}'],
  [/Format<"date">/, 'a date such as 2026-03-02'],
  [/^\[/, 'an array of 3 numbers'],
  [/Array<.*MinItems<(\d+)>.*MaxItems<(\d+)>/, 'an array of $1 to $2 items'],
  [/Array<.*MinItems<(\d+)>/, 'an array of at least $1 item'],
  [/Array<.*MaxItems<(\d+)>/, 'an array of at most $1 items'],
  [/Array</, 'an array'],
  [/Type<"uint32">.*Minimum<(\d+)>.*Maximum<(\d+)>/, 'an integer from $1 to $2'],
  [/Type<"uint32">/, 'an integer from 0 to 4294967295'],
  [/ExclusiveMinimum<(\d+)>.*Maximum<(\d+)>/, 'a number above $1, at most $2'],
  [/ExclusiveMinimum<(\d+)>/, 'a number above $1'],
  [/Minimum<(\d+)>/, 'at least $1'],
  [/Maximum<(\d+)>/, 'at most $1'],
  [/number/, 'a number'],
  [/string/, 'a string'],
  [/boolean/, 'true or false'],
  [/__type\.o\d+/, 'of a documented form'],
]

/** The value in `text`. Throws a `ModelError` that names `file`, each failing path and the rule it breaks. */
export function parseTyped<T>(text: string, file: string, validate: (value: unknown) => IValidation<T>): T {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new ModelError(`${file} is not JSON: ${(cause as Error).message}`, { cause })
  }
  if (Array.isArray(value)) throw refusal(file, ['the file must be an object, not an array'])
  const report = validate(value)
  if (report.success) return report.data
  const problems = report.errors.map(problemOf)
  const more = problems.length - problemsMax
  throw refusal(file, [...problems.slice(0, problemsMax), ...(more > 0 ? [`and ${more} more`] : [])])
}

/** An error that names `file` before each problem. */
export function refusal(file: string, problems: readonly string[]): ModelError {
  return new ModelError(problems.map((problem) => `${file}: ${problem}`).join('\n'))
}

/** Begins with its path, such as `head[1].inputs.features`. */
function problemOf({ path, expected, value }: IValidation.IError): string {
  const place = path
    .replace(/^\$input\.?/, '')
    .replace(/\.?\["(.*?)"\]/g, '.$1')
    .replace(/^\./, '')
  const subject = place === '' ? 'the file' : place
  if (expected === 'undefined') return `${subject} is not known`
  if (value === undefined) return `${subject} is required`
  if (expected.includes('UniqueItems') && Array.isArray(value) && value.length > 0)
    return `${subject} must not name an item twice`
  if (value === '' && expected.includes('MinLength')) return `${subject} must not be empty`
  const text = JSON.stringify(value)
  const shown = text.length <= valueCharsMax ? text : `${text.slice(0, valueCharsMax)}…`
  return `${subject} must be ${wordsOf(expected)}, not ${shown}`
}

function wordsOf(expected: string): string {
  const literals = [...expected.matchAll(/(?<![<\w])"([\w-]+)"/g)].map(([, literal]) => literal)
  if (literals.length > 0) return `one of ${literals.join(', ')}`
  // The items of an array are not alternatives of it.
  const alternatives = expected
    .replace(/^\((.*)\)$/, '$1')
    .replace(/Array<.*>(?= & |\)| \||$)/, (array) => array.replaceAll(' | ', ' '))
    .split(' | ')
    .filter((alternative) => alternative !== 'undefined')
  return [...new Set(alternatives.map(wordsOfType))].join(' or ')
}

function wordsOfType(type: string): string {
  for (const [form, words] of typeWords) {
    const [, first = '', second = ''] = form.exec(type) ?? []
    if (form.test(type)) return words.replace('$1', first).replace('$2', second)
  }
  return 'an object'
}
