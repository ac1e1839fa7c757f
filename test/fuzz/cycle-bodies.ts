/**
 * Cycle bodies for differential tests: small valid ones, and structure-aware mutations of them that stay close enough
 * to validity to get past the first check.
 */
import { numberTexts, stringTexts, textOfEdges, timeTexts, valueText } from './json-values.js'
import type { Random } from '../harness/rng.js'

/** A JSON value whose scalars and member names are texts in the spelling of the body. */
type Node = string | Node[] | Member[]
type Member = { name: string; value: Node }

const isObject = (node: Node): node is Member[] =>
  Array.isArray(node) && node.length > 0 && !Array.isArray(node[0]) && typeof node[0] === 'object'

const counters = ['views', 'up', 'down', 'comment_cnt', 'rtb_vote']
const groups = ['recommend_up_cnt', 'comment_cnt', 'hit_cnt', 'sitebest_cnt']
const snapshots = [
  ...groups.flatMap((name) => [name, `${name}_m`, `${name}_a`]),
  'memo_size',
  'upimg_cnt',
  'upimg_height',
]

function member(name: string, value: Node): Member {
  return { name: JSON.stringify(name), value }
}

function text(value: string): string {
  return JSON.stringify(value)
}

const goodTimes = timeTexts.slice(0, 7)

function keys(random: Random): Member[] {
  const gallery = random.pick([
    'hit',
    'dcbest',
    '한글',
    'programming',
    'a',
    'leagueoflegends6-and-a-longer-name',
  ])
  return [member('gall_id', text(gallery)), member('post_no', String(1 + random.below(1e9)))]
}

function counter(random: Random): string {
  return random.chance(0.1) ? 'null' : String(random.below(random.pick([10, 1000, 0x7fffffff])))
}

function candidate(random: Random): Member[] {
  const row = [
    ...keys(random),
    member('title', random.chance(0.5) ? text('실시간 베스트 ㅋㅋ') : textOfEdges(random)),
    member('created_at', random.chance(0.2) ? 'null' : random.pick(goodTimes)),
    member('extracted_at', random.chance(0.2) ? 'null' : random.pick(goodTimes)),
    member('source', text(random.pick(['score', 'setting', 'keyword', 'vote', 'manual', 'unknown']))),
    member('manual_flag', random.pick(['0', '1'])),
    member('images_in_post', String(random.below(20))),
  ]
  const optional = [
    member(
      'image_positions',
      Array.from({ length: random.below(20) }, (_, i) => String(i * 2 + 1)),
    ),
    member('body_html', textOfEdges(random)),
    member('gallery_type', text(random.pick(['main', 'minor', 'mini']))),
    member('category_id', String(random.below(1000) - 500)),
  ]
  return [...row, ...optional.filter(() => random.chance(0.7))]
}

function engagement(random: Random): Member[] {
  return [
    ...keys(random),
    member('observed_at', random.pick(goodTimes)),
    member('status', text(random.pick(['ok', 'ok', 'missing', 'nomap']))),
    ...counters.map((name) => member(name, counter(random))),
  ]
}

function snapshot(random: Random): Member[] {
  const values = snapshots.map((name) =>
    member(name, random.chance(0.1) ? 'null' : String(random.below(32767))),
  )
  return [
    ...keys(random),
    member('snapshot_at', random.pick(goodTimes)),
    ...values.filter(() => random.chance(0.9)),
  ]
}

function removal(random: Random): Member[] {
  const saved = random.chance(0.5)
  return [
    ...keys(random),
    member('reason', text(saved ? 'saved' : random.pick(['hidden', 'deleted', 'aged_out']))),
    member('decided_at', random.pick(goodTimes)),
    ...(saved || random.chance(0.2)
      ? [member('tier', text(random.pick(['main', 'light', 'night', 'app'])))]
      : []),
    ...(random.chance(0.3) ? [member('reason_code', textOfEdges(random))] : []),
  ]
}

/** A valid cycle of a few rows. */
function cycle(random: Random): Member[] {
  const rows = (row: (random: Random) => Member[]): Node[] =>
    Array.from({ length: random.below(4) }, () => row(random))
  return [
    member('cycle_id', text('20260105T0900')),
    member('cycle_time', random.pick(goodTimes)),
    member('candidates', rows(candidate)),
    member('engagement', rows(engagement)),
    member('candidate_scores', rows(snapshot)),
    member('removals', rows(removal)),
  ]
}

// ---- mutations

/** All objects and arrays in a tree. */
function containers(root: Node): (Node[] | Member[])[] {
  if (typeof root === 'string') return []
  const children: Node[] = isObject(root) ? root.map(({ value }) => value) : root
  return [root, ...children.flatMap(containers)]
}

function memberNameText(random: Random, name: string): string {
  switch (random.below(7)) {
    case 0: // the same name, escaped
      return `"\\u${name.charCodeAt(1).toString(16).padStart(4, '0')}${name.slice(2)}`
    case 1:
      return name.toUpperCase()
    case 2:
      return `${name.slice(0, -1)}x"`
    case 3:
      return `${name.slice(0, -2)}"`
    case 4:
      return random.pick([
        '"mood"',
        '""',
        '"0"',
        '"10"',
        '"__proto__"',
        '"constructor"',
        '"한글"',
        `"${'n'.repeat(250)}"`,
      ])
    case 5:
      return random.pick(stringTexts)
    default:
      return random.pick([
        '"candidates[].mood"',
        '"views"',
        '"tier"',
        '"title"',
        '"toString"',
        '"a b"',
        '"😀"',
      ])
  }
}

function mutateObject(random: Random, members: Member[]): void {
  const at = random.below(members.length)
  const chosen = members[at]!
  switch (random.below(10)) {
    case 0:
      members.splice(at, 1)
      break
    case 1:
      members.splice(random.below(members.length + 1), 0, {
        name: chosen.name,
        value: random.chance(0.5) ? chosen.value : valueText(random),
      })
      break
    case 2:
      members.sort(() => random.below(3) - 1)
      break
    case 3:
      chosen.name = memberNameText(random, chosen.name)
      break
    case 4:
      members.splice(random.below(members.length + 1), 0, {
        name: memberNameText(random, '"mood"'),
        value: valueText(random),
      })
      break
    default:
      chosen.value = likelyValue(random, chosen)
  }
}

/** A value of the right type more often than not. */
function likelyValue(random: Random, { value }: Member): string {
  if (typeof value !== 'string' || random.chance(0.3)) return valueText(random)
  if (/^"\d{4}/.test(value)) return random.pick(timeTexts)
  if (value.startsWith('"')) return random.chance(0.5) ? random.pick(stringTexts) : textOfEdges(random)
  return random.pick(numberTexts)
}

function mutateArray(random: Random, items: Node[]): void {
  const at = random.below(items.length + 1)
  switch (random.below(4)) {
    case 0:
      items.splice(at, 1)
      break
    case 1:
      items.splice(at, 0, structuredClone(items[random.below(items.length)] ?? '{}'))
      break
    case 2:
      items.splice(at, 0, valueText(random))
      break
    default:
      items.reverse()
  }
}

function serialize(random: Random, node: Node, spaces: boolean): string {
  const gap = (): string => (spaces && random.chance(0.2) ? random.pick([' ', '\n', '\t', '\r\n', '  ']) : '')
  if (typeof node === 'string') return gap() + node + gap()
  if (!isObject(node))
    return `${gap()}[${node.map((item) => serialize(random, item, spaces)).join(',')}${gap()}]`
  const members = node.map(({ name, value }) => `${gap()}${name}${gap()}:${serialize(random, value, spaces)}`)
  return `${gap()}{${members.join(',')}${gap()}}${gap()}`
}

const unusualBytes = [
  [0x00], [0x0c], [0x1a], [0x22], [0x5c], [0x7f], [0x80], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xff],
  [0xe3, 0x80], [0xef, 0xbb, 0xbf], [0xc2, 0xa0], [0x2c], [0x3a], [0x7b], [0x7d], [0x5b], [0x5d], [0x20], [0x30], [0x2d], [0x65],
] as const // prettier-ignore

function mutateBytes(random: Random, body: Buffer): Buffer {
  const at = random.below(body.length + 1)
  const odd = Buffer.from(random.pick(unusualBytes))
  switch (random.below(6)) {
    case 0: // truncated
      return body.subarray(0, at)
    case 1: // trailing bytes
      return Buffer.concat([body, odd])
    case 2: // leading bytes
      return Buffer.concat([odd, body])
    case 3: // inserted
      return Buffer.concat([body.subarray(0, at), odd, body.subarray(at)])
    case 4: // removed
      return Buffer.concat([body.subarray(0, at), body.subarray(at + 1)])
    default: {
      // replaced
      const copy = Buffer.from(body)
      odd.copy(copy, Math.min(at, copy.length))
      return copy
    }
  }
}

/** A valid body. */
export function validBody(random: Random): Buffer {
  return Buffer.from(serialize(random, cycle(random), random.chance(0.3)))
}

/** A body with one to three mutations, some of which keep it valid. */
export function mutatedBody(random: Random): Buffer {
  const root = cycle(random)
  for (let count = 1 + random.below(3); count > 0; count--) {
    const chosen = random.pick(containers(root))
    if (isObject(chosen)) mutateObject(random, chosen)
    else mutateArray(random, chosen)
  }
  const body = Buffer.from(serialize(random, root, random.chance(0.3)))
  return random.chance(0.15) ? mutateBytes(random, body) : body
}
