/**
 * The JSON schema of manifests: the committed file matches the type, and the documentation names every member.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { manifestSchema, manifestSchemaText } from './manifest-schema.js'

const docs = fileURLToPath(new URL('../../../docs/', import.meta.url))

interface Schema {
  $ref?: string
  $defs?: Record<string, Schema>
  properties?: Record<string, Schema>
  additionalProperties?: boolean
  oneOf?: Schema[]
  items?: Schema
}

const schema = manifestSchema() as Schema

test('docs/manifest.schema.json is the schema of the type: `npx understudy models schema` writes it', () => {
  expect(readFileSync(join(docs, 'manifest.schema.json'), 'utf8')).toBe(manifestSchemaText())
})

test('every reference has a definition', () => {
  for (const [, name] of manifestSchemaText().matchAll(/"\$ref": "([^"]*)"/g)) {
    expect(name).toMatch(/^#\/\$defs\//)
    expect(Object.keys(schema.$defs ?? {})).toContain(name?.slice('#/$defs/'.length))
  }
})

test('no object accepts unknown members', () => {
  const objects = objectsOf(schema)
  expect(objects.length).toBeGreaterThan(8)
  for (const object of objects) expect(object.additionalProperties, JSON.stringify(object)).toBe(false)
})

describe('docs/manifest.md names the member', () => {
  const document = readFileSync(join(docs, 'manifest.md'), 'utf8')

  test.each([...paths(schema)])('%s', (path) => {
    expect(document).toContain(`\`${path}\``)
  })
})

/** The path of every member, such as `text.tokenizer.file`; members that all graphs share are listed for `head` only. */
function paths(value: Schema, path = '', collected = new Set<string>()): Set<string> {
  const target =
    value.$ref === undefined ? value : (schema.$defs?.[value.$ref.slice('#/$defs/'.length)] ?? {})
  for (const part of [...(target.oneOf ?? []), ...(target.items === undefined ? [] : [target.items])])
    paths(part, path, collected)
  for (const [name, member] of Object.entries(target.properties ?? {})) {
    const inner = path === '' ? name : `${path}.${name}`
    if (/^(text|image)\.(file|sha256|external_data|batch|execution_providers|intra_op_threads)$/.test(inner))
      continue
    // All heads have the same form.
    const shown = inner.replace(/\.(p_views|p_comments|p_up|downvote_share)(?=\.|$)/, '.<head>')
    collected.add(shown)
    paths(member, shown, collected)
  }
  return collected
}

function objectsOf(value: unknown): Schema[] {
  if (typeof value !== 'object' || value === null) return []
  const objects = 'properties' in value && !Array.isArray(value) && 'type' in value ? [value as Schema] : []
  return [...objects, ...Object.values(value).flatMap(objectsOf)]
}
