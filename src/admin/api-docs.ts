/**
 * `/docs`: the OpenAPI document as one page of HTML without a script. Renderers such as Redoc and Swagger UI are about a
 * megabyte of script each; the document has seven operations.
 */
import { openApiDocument } from '../contract/index.js'
import { Html, html, inline, markdown, plainPage, table } from './plain-page.js'
import type { Reply } from './routes.js'

type Named<Value> = Readonly<Record<string, Value>>

/** What this page shows of the document. */
interface Document {
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Named<Named<Operation>>
  readonly components: {
    readonly securitySchemes: { readonly ApiKey: { readonly name: string; readonly description: string } }
    readonly parameters: Named<Parameter>
    readonly headers: Named<Described>
    readonly responses: Named<Response>
    readonly schemas: Named<Schema>
  }
}

/** With `$ref`, the other members are those of the component. */
interface Described {
  readonly $ref?: string
  readonly description?: string
}

interface Operation extends Described {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly security?: readonly unknown[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Response
  readonly responses: Named<Response>
}

interface Parameter extends Described {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly schema: Schema
}

interface Response extends Described {
  readonly headers?: Named<Described>
  readonly content?: Content
}

type Content = Named<{ readonly schema: Schema; readonly example?: unknown }>

interface Schema extends Described {
  readonly type?: string | readonly string[]
  readonly required?: readonly string[]
  readonly properties?: Named<Schema>
  readonly items?: Schema
  readonly oneOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
}

const none = html``

export function apiDocs(document = openApiDocument() as unknown as Document): Reply {
  const { info, tags, paths, components } = document
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const ofTag = (tag: string) => operations.filter(({ operation }) => operation.tags.includes(tag))
  const body = html`<div class="docs">
    <nav aria-label="Contents">
      ${tags.map(
        ({ name }) =>
          html`<p class="muted">${name}</p>
            <ul>
              ${ofTag(name).map(operationLink)}
            </ul>`,
      )}
      <ul>
        <li><a href="#errors">Errors</a></li>
        <li><a href="#types">Types</a></li>
      </ul>
    </nav>
    <main>
      <h1>${info.title} API</h1>
      <p class="muted">
        Version ${info.version}. The same document for programs: <a href="/openapi.json">openapi.json</a>
      </p>
      ${markdown(info.description)}
      <p>
        The header <code>${components.securitySchemes.ApiKey.name}</code> has the API key.
        ${components.securitySchemes.ApiKey.description}
      </p>
      ${tags.map(
        ({ name, description }) =>
          html`<h2>${name}</h2>
            ${markdown(description)} ${ofTag(name).map((one) => operationPanel(one, components))}`,
      )}
      <h2 id="errors">Errors</h2>
      ${Object.entries(components.responses).map(([name, response]) =>
        panel(`error-${name}`, html`${name}`, [
          markdown(response.description),
          ...contentParts(response.content),
          headerLines(response, components.headers),
        ]),
      )}
      <h2 id="types">Types</h2>
      ${Object.entries(components.schemas).map(([name, schema]) => schemaPanel(name, schema))}
    </main>
  </div>`
  return plainPage(`${info.title} API`, body)
}

interface ListedOperation {
  readonly path: string
  readonly method: string
  readonly operation: Operation
}

function operationLink({ path, method, operation }: ListedOperation): Html {
  return html`<li>
    <a href="#${operation.operationId}"><code>${method.toUpperCase()} ${path}</code></a>
  </li>`
}

function panel(id: string, title: Html, parts: readonly Html[]): Html {
  return html`<section class="panel" id="${id}">
    <h3>${title}</h3>
    ${parts}
  </section>`
}

function operationPanel(
  { path, method, operation }: ListedOperation,
  { parameters, headers, responses }: Document['components'],
): Html {
  const given = (operation.parameters ?? []).map((one) => parameters[nameOf(one)] ?? one)
  const { requestBody: body, security } = operation
  return panel(
    operation.operationId,
    html`<code><span class="method">${method.toUpperCase()}</span> ${path}</code>`,
    [
      html`<p><strong>${operation.summary}</strong>${security === undefined ? '' : ' (without a key)'}</p>`,
      markdown(operation.description),
      given.length === 0 ? none : parameterTable(given),
      ...(body === undefined
        ? []
        : [html`<h4>Request body</h4>`, markdown(body.description), ...contentParts(body.content)]),
      html`<h4>Responses</h4>`,
      table(
        ['Status', 'What it means', 'Body and headers'],
        Object.entries(operation.responses).map(([status, own]) => {
          const name = nameOf(own)
          const details =
            name === ''
              ? html`${contentParts(own.content)}${headerLines(own, headers)}`
              : html`<a href="#error-${name}">Details</a>`
          return [html`<code>${status}</code>`, inline((responses[name] ?? own).description), details]
        }),
      ),
    ],
  )
}

function parameterTable(parameters: readonly Parameter[]): Html {
  return html`<h4>Parameters</h4>
    ${table(
      ['Name', 'Type', 'What it is'],
      parameters.map(({ name, in: place, required, schema, description }) => [
        html`<code>${name}</code>
          <span class="muted">${place}${required === true ? ', required' : ''}</span>`,
        typeText(schema),
        inline(description),
      ]),
    )}`
}

function headerLines({ headers = {} }: Response, known: Document['components']['headers']): Html {
  return html`${Object.entries(headers).map(
    ([name, header]) =>
      html`<p>Header <code>${name}</code>. ${inline(known[nameOf(header)]?.description)}</p>`,
  )}`
}

function contentParts(content: Content = {}): Html[] {
  return Object.entries(content).map(
    ([mediaType, { schema, example }]) =>
      html`<p><code>${mediaType}</code>: ${typeText(schema)}</p>
        ${
          example === undefined
            ? none
            : html`<details>
                <summary>Example</summary>
                <pre><code>${JSON.stringify(example, null, 2)}</code></pre>
              </details>`
        }`,
  )
}

function schemaPanel(name: string, schema: Schema): Html {
  const rows = propertyRows(schema, '')
  return panel(`type-${name}`, html`<code>${name}</code>`, [
    markdown(schema.description),
    rows.length === 0 ? typeText(schema) : table(['Member', 'Type', 'What it is'], rows),
  ])
}

/** One row per member; members of members with their path. */
function propertyRows({ properties = {}, required = [] }: Schema, prefix: string): Html[][] {
  return Object.entries(properties).flatMap(([name, schema]) => [
    [
      html`<code>${prefix}${name}</code
        >${required.includes(name) ? '' : html` <span class="muted">optional</span>`}`,
      typeText(schema),
      inline(schema.description),
    ],
    ...propertyRows(schema, `${prefix}${name}.`),
    ...propertyRows(schema.items ?? {}, `${prefix}${name}[].`),
  ])
}

/** The keywords that only limit a value, with words for them. */
const limits: Readonly<Record<string, string>> = {
  ...{ format: '', pattern: 'matches', const: 'always', contentMediaType: '' },
  ...{ minimum: 'at least', maximum: 'at most', minLength: 'length at least', maxLength: 'length at most' },
  ...{ minItems: 'at least', maxItems: 'at most' },
}

function typeText(schema: Schema): Html {
  if (schema.$ref !== undefined) return html`<a href="#type-${nameOf(schema)}">${nameOf(schema)}</a>`
  if (schema.oneOf !== undefined) return join(schema.oneOf.map(typeText), ' or ')
  if (schema.enum !== undefined)
    return join(
      schema.enum.map((value) => html`<code>${JSON.stringify(value)}</code>`),
      ' | ',
    )
  const words = Object.entries(limits).flatMap(([keyword, word]) => {
    const value = (schema as Readonly<Record<string, string | number | undefined>>)[keyword]
    return value === undefined ? [] : html`${word} <code>${String(value)}</code>`
  })
  const name = html`${[schema.type ?? 'any'].flat().join(' or ')}`
  const type = schema.items === undefined ? name : html`${name} of ${typeText(schema.items)}`
  return join([type, ...words], ', ')
}

function join(parts: readonly Html[], separator: string): Html {
  return new Html(parts.map(({ text }) => text).join(separator))
}

/** `#/components/schemas/Name` → `Name`; empty if it is not a reference. */
function nameOf({ $ref = '' }: Described): string {
  return $ref.slice($ref.lastIndexOf('/') + 1)
}
