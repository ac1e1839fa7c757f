/**
 * What a rendered view of the operators' page shows, as text by label: tiles, facts, tables. For tests that compare each
 * figure with its label.
 */

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' }

/** The text of HTML, with single spaces. */
export function textOf(html: string): string {
  return html
    .replace(/<svg.*?<\/svg>/gs, ' ')
    .replace(/<(?:div|p|li|dt|dd|td|th|h\d|small|option|button)\b/g, ' $&')
    .replace(/<[^>]*>/g, '')
    .replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
    .replace(/&(\w+);/g, (reference, name: string) => entities[name] ?? reference)
    .replace(/\s+/g, ' ')
    .trim()
}

/** The content of each element with a name, in order; elements of that name may not contain each other. */
export function elementsOf(html: string, name: string): string[] {
  return [...html.matchAll(new RegExp(`<${name}(?: [^>]*)?>(.*?)</${name}>`, 'gs'))].map(
    ([, content = '']) => content,
  )
}

/** The section, figure or list with a label. Throws if there is none. */
export function labelled(html: string, label: string): string {
  const found = [...html.matchAll(/<(section|aside|ul|figure)( [^>]*)?>(?:(?!<\1[ >]).)*?<\/\1>/gs)].find(
    ([, , attributes = '']) => textOf(attributes.match(/aria-label="([^"]*)"/)?.[1] ?? '') === label,
  )
  if (found === undefined) throw new Error(`nothing is labelled ${label}`)
  return found[0]
}

/** The facts of a list, by name. */
export function factsOf(html: string): Record<string, string> {
  const names = elementsOf(html, 'dt').map(textOf)
  return Object.fromEntries(elementsOf(html, 'dd').map((value, i) => [names[i] ?? '', textOf(value)]))
}

/** A tile: its figure with unit, and its facts. */
export function tileOf(html: string, label: string): Record<string, string> {
  const tile = labelled(html, label)
  const [figure = ''] = /<p class="figure">.*?<\/p>/s.exec(tile) ?? []
  return { figure: textOf(figure), ...factsOf(tile) }
}

/** The rows of the table with a caption, each by column title. */
export function rowsOf(html: string, caption: string | RegExp): Record<string, string>[] {
  const table = elementsOf(html, 'table').find((content) => {
    const [text = ''] = elementsOf(content, 'caption').map(textOf)
    return typeof caption === 'string' ? text === caption : caption.test(text)
  })
  if (table === undefined) throw new Error(`no table ${String(caption)}`)
  const [head = '', ...rows] = elementsOf(table, 'tr')
  const titles = elementsOf(head, 'th').map(textOf)
  return rows.map((row) =>
    Object.fromEntries(elementsOf(row, '(?:td|th)').map((cell, i) => [titles[i] ?? '', textOf(cell)])),
  )
}

/** The badges of a text with their tones, such as `warn 61 s overdue`. */
export function badgesOf(html: string): string[] {
  return [...html.matchAll(/<span class="badge (\w+)">(.*?)<\/span>/gs)].map(
    ([, tone = '', text = '']) => `${tone} ${textOf(text)}`,
  )
}
