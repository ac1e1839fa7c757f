/**
 * What a draft states about each member of its manifest: the value, and where it comes from.
 */

/** `read` from a file or a graph; `guessed`: plausible, and to be compared with the training; `needed`: only the training knows it. */
export type FindingState = 'read' | 'guessed' | 'needed'

export interface Finding {
  /** The path in the manifest, such as `text.pooling`. */
  readonly member: string
  readonly state: FindingState
  readonly value: string
  /** The source of what was read, the reason of a guess, or how to supply what is needed. */
  readonly source: string
}

/** A value with its source. */
export interface Known<T> {
  readonly value: T
  readonly state: Exclude<FindingState, 'needed'>
  readonly source: string
}

export function read<T>(value: T, source: string): Known<T> {
  return { value, state: 'read', source }
}

export function guess<T>(value: T, reason: string): Known<T> {
  return { value, state: 'guessed', source: reason }
}

/** Collects findings while a manifest is put together. */
export class Findings {
  readonly list: Finding[] = []

  /** Records where the value of a member comes from, and returns it. `text`: the value as text. */
  take<T>(member: string, { value, state, source }: Known<T>, text = textOf(value)): T {
    this.list.push({ member, state, value: text, source })
    return value
  }

  need(member: string, how: string): void {
    this.list.push({ member, state: 'needed', value: '', source: how })
  }
}

/** A text with line breaks is shown as JSON. */
function textOf(value: unknown): string {
  return typeof value === 'string' && !value.includes('\n') ? value : JSON.stringify(value)
}

const order = ['model_version', 'kind', 'features', 'missing', 'galleries', 'head', 'text', 'image', 'golden']

/** Sorts findings as a manifest has its members. */
export function inOrder(findings: readonly Finding[]): Finding[] {
  const rank = ({ member }: Finding): number => order.indexOf(member.replace(/[.[].*$/, ''))
  return findings.toSorted((a, b) => rank(a) - rank(b))
}
