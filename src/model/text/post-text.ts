/**
 * The text of a post: title and body of a candidate's record, joined by the manifest's template.
 */
import { htmlToText } from './html-text.js'

export interface PostText {
  readonly title: string
  /** HTML; empty if the record has none. */
  readonly bodyHtml: string
}

/** Makes the text of a post, with at most `charsMax` UTF-16 units of its body. */
export type Template = (post: PostText, charsMax: number) => string

const decoder = new TextDecoder()

/** Title and body of a candidate's raw JSON object, or null for other bytes. */
export function readPost(record: Uint8Array): PostText | null {
  let value: unknown
  try {
    value = JSON.parse(decoder.decode(record))
  } catch {
    return null
  }
  if (typeof value !== 'object' || value === null) return null
  const { title, body_html: bodyHtml } = value as { title?: unknown; body_html?: unknown }
  if (typeof title !== 'string') return null
  return { title, bodyHtml: typeof bodyHtml === 'string' ? bodyHtml : '' }
}

/**
 * Replaces each `{title}` and `{body}` of the template and nothing else: a title that holds `{body}` is unchanged, and
 * the template's own words stay around an empty body.
 */
export function parseTemplate(template: string): Template {
  const parts = template.split(/(\{title\}|\{body\})/)
  const readsBody = parts.includes('{body}')
  return ({ title, bodyHtml }, charsMax) => {
    const body = readsBody ? htmlToText(bodyHtml, charsMax) : ''
    return parts.map((part) => (part === '{title}' ? title : part === '{body}' ? body : part)).join('')
  }
}
