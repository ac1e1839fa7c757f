// Writes the table of the native decoder, src/codec/native/cycle_table.cc, from the contract as dist has it:
//   node scripts/decode-table.mjs            `npm run build` runs it before it compiles the addon
//   node scripts/decode-table.mjs --check    fails if the file is not what the contract says
// Which member may hold what comes from the contract's types; the table below says which columns a member fills.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { shapeHash } from '../dist/codec/native-addon.js'
import { cycleIdPattern, cycleShape, rowShape, textMeasureNames } from '../dist/contract/index.js'

const file = fileURLToPath(new URL('../src/codec/native/cycle_table.cc', import.meta.url))

const instant = (name) => [`${name}Ms`, `${name}Fraction`]
const measures = (group) => textMeasureNames.map((name) => `${group}.${name}`)
const post = { gall_id: ['gallery'], post_no: ['postNo'] }

/** The columns of each member. One that is not listed fills the column of its own name. */
const bodyColumns = {
  cycle_id: ['cycleIdStart', 'cycleIdEnd'],
  cycle_time: [...instant('cycleAt'), 'cycleTimeStart', 'cycleTimeEnd'],
}
const listColumns = {
  candidates: {
    ...post,
    title: measures('title'),
    created_at: instant('createdAt'),
    extracted_at: instant('extractedAt'),
    manual_flag: ['manualFlag'],
    images_in_post: ['imagesInPost'],
    image_positions: ['imagesExpected', 'imagePositionsFingerprint'],
    body_html: [...measures('body'), 'bodyPresent'],
    gallery_type: ['galleryType'],
    category_id: ['categoryId'],
  },
  engagement: { ...post, observed_at: instant('observedAt') },
  candidate_scores: { ...post, snapshot_at: instant('snapshotAt') },
  removals: { ...post, decided_at: ['decidedAtMs'], reason_code: [] },
}
/** Columns for start and end of a row in the body. */
const sliceColumns = { candidates: ['rowStart', 'rowEnd'] }

/** Bytes of an entry of each column, by kind of value (`value_kind` in decode_table.h). */
const entryBytes = {
  cycle_id: [4, 4],
  date_time: [8, 8, 4, 4],
  distinct_integers: [8, 4],
  enum_number: [1],
  enum_text: [1],
  ignored_text: [],
  integer: [8],
  key: [4],
  measured_html: [...textMeasureNames.map(() => 4), 1],
  measured_text: textMeasureNames.map(() => 4),
  rows: [],
}

function require(condition, what) {
  if (!condition) throw new Error(`the native decoder does not support ${what}`)
}

function kindOf({ name, value }, columns) {
  switch (value.kind) {
    case 'date-time':
      return 'date_time'
    case 'integer':
      return 'integer'
    case 'enum':
      return typeof value.values[0] === 'string' ? 'enum_text' : 'enum_number'
    case 'array':
      if (value.items.kind === 'object') return 'rows'
      require(value.unique && value.items.kind === 'integer' && value.items.minimum >= 1, `the list ${name}`)
      return 'distinct_integers'
    case 'string':
      if (value.pattern === cycleIdPattern.source) return 'cycle_id'
      require(value.pattern === undefined, `the pattern of ${name}`)
      if (value.charsMin === 1) return 'key'
      if (columns.length === 0) return 'ignored_text'
      return name === 'body_html' ? 'measured_html' : 'measured_text'
  }
  return require(false, name)
}

/** Kinds whose columns have no value for an absent member; and those that have one for null. */
const requiredKinds = ['cycle_id', 'enum_number', 'key', 'measured_text', 'rows']
const nullableKinds = ['date_time', 'integer']

/** The least and the largest number, or the most characters of a text; nothing without a limit. */
function limitsOf({ value }) {
  if (value.kind === 'integer') return [value.minimum, value.maximum]
  if (value.kind === 'array' && value.items.kind === 'integer')
    return [value.items.minimum, value.items.maximum]
  if (value.kind === 'enum' && typeof value.values[0] === 'number')
    return [value.values[0], value.values.at(-1)]
  return (value.charsMax ?? Infinity) === Infinity ? [] : [0, value.charsMax]
}

const list = (items) => `{${items.join(', ')}}`
const text = (value) => {
  require(/^[\x21-\x7e]{1,30}$/.test(value) && !/["\\]/.test(value), `the text ${value}`)
  return `"${value}"`
}

function memberLine(member, columns, firstColumn, members) {
  const { name, required, requiredWhen, value } = member
  const kind = kindOf(member, columns)
  const flags = [...(required ? ['required'] : []), ...(value.nullable ? ['nullable'] : [])]
  require(required || !requiredKinds.includes(kind), `${name} as an optional member`)
  require(!value.nullable || nullableKinds.includes(kind), `null for ${name}`)
  const limits = limitsOf(member)
  require(limits.every((limit) => Math.abs(limit) <= Number.MAX_SAFE_INTEGER), `the limits of ${name}`)
  const values = kind === 'enum_text' ? value.values.map(text) : []
  if (kind === 'enum_number')
    require(value.values.every(
      (code, i) => code === value.values[0] + i && code < 255,
    ), `the numbers of ${name}`)
  const condition = members.findIndex((other) => other.name === requiredWhen?.member)
  const code = members[condition]?.value.values.indexOf(requiredWhen.value)
  require(columns.length <= entryBytes[kind].length, `the columns of ${name}`)
  const head = [text(name), `value_kind::${kind}`, flags.join(' | ') || 'optional']
  const rest = [[firstColumn, columns.length], limits, values, condition < 0 ? [] : [condition, code]]
  while (rest.at(-1).length === 0) rest.pop()
  return `${list([...head, ...rest.map(list)])},`
}

/** A required member takes two quotes, a colon, a byte for its value, and a comma or bracket besides its name. */
function rowBytesMin({ members }) {
  return members.reduce((bytes, { name, required }) => bytes + (required ? name.length + 5 : 0), 0)
}

function tableText() {
  const columns = []
  const objects = []
  const addObject = (name, shape, names, rowCountMax, slice = []) => {
    const add = (paths, bytes) => {
      paths.forEach((path, i) => columns.push(list([objects.length, bytes[i], `"${path}"`])))
      return columns.length - paths.length
    }
    require(shape.members.length <= 64, `more than 64 members in ${name}`)
    const sliceColumn = slice.length === 0 ? 'no_column' : add(slice, [4, 4])
    const lines = shape.members.map((member) => {
      const paths = names[member.name] ?? (member.value.items?.kind === 'object' ? [] : [member.name])
      const first = add(paths, entryBytes[kindOf(member, paths)])
      return memberLine(member, paths, first, shape.members)
    })
    objects.push(`// ${name}
        {${rowCountMax === Infinity ? 'no_row_limit' : rowCountMax}, ${rowBytesMin(shape)}, ${sliceColumn}, {
            ${lines.join('\n            ')}
        }},`)
  }
  addObject('the body', cycleShape, bodyColumns, 1)
  for (const { name, value } of cycleShape.members)
    if (value.kind === 'array')
      addObject(name, rowShape(cycleShape, name), listColumns[name], value.countMax, sliceColumns[name])
  return `// Generated by scripts/decode-table.mjs from src/contract: \`npm run build\` writes it again after a change.
#include "decode_table.h"

namespace understudy {

const char* const cycle_shape_hash = "${shapeHash}";

decode_table cycle_table() {
  return {
    {
        // object, bytes of an entry, name
        ${columns.map((column) => `${column},`).join('\n        ')}
    },
    {
        ${objects.join('\n        ')}
    },
  };
}

}  // namespace understudy
`
}

const current = tableText()
if (readFileSync(file, { encoding: 'utf8', flag: 'a+' }) !== current) {
  if (process.argv.includes('--check')) {
    console.error('src/codec/native/cycle_table.cc is not what the contract says; run: npm run build')
    process.exitCode = 1
  } else {
    writeFileSync(file, current)
    console.log('wrote src/codec/native/cycle_table.cc')
  }
}
