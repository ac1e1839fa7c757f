/**
 * From a candidate's record to the text that an encoder reads.
 */
import { expect, test } from 'vitest'
import { parseTemplate, readPost } from './post-text.js'

const record = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value))

test('a record has a title and a body, and an absent or null body is empty', () => {
  expect(readPost(record({ title: '제목', body_html: '<p>글', gall_id: 'x' }))).toEqual({
    title: '제목',
    bodyHtml: '<p>글',
  })
  expect(readPost(record({ title: '제목', body_html: null }))).toEqual({ title: '제목', bodyHtml: '' })
  expect(readPost(record({ title: '' }))).toEqual({ title: '', bodyHtml: '' })
})

test('bytes that are not a record with a title are rejected', () => {
  for (const bytes of [
    record({}),
    record(null),
    record([1]),
    record({ title: 1 }),
    Buffer.from('{"title":"a'),
  ]) {
    expect(readPost(bytes)).toBeNull()
  }
})

test('only the placeholders of a template are replaced', () => {
  const fill = parseTemplate('[{title}] {body} {title} {other}')
  expect(fill({ title: '{body} $& $1', bodyHtml: '<p>{title}</p>' }, 100)).toBe(
    '[{body} $& $1] {title} {body} $& $1 {other}',
  )
})

test('a template without a body placeholder does not read the body', () => {
  expect(parseTemplate('{title}')({ title: '제목', bodyHtml: '글' }, 100)).toBe('제목')
})
