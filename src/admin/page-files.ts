/**
 * The files of the operators' page, which the build writes into `dist/page`, as routes. They are read once, at startup.
 * A name that contains the hash of its content never changes, so browsers keep those files; index.html names them.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { builtFile } from '../base/index.js'
import { ServiceError } from '../contract/index.js'
import { acceptsCoding } from '../server/index.js'
import type { Call, Reply, Route } from './routes.js'

const contentTypes: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

/** Smallest first, with the suffixes of the files into which the build writes them. */
const encodings = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const
type Encoding = (typeof encodings)[number][0]

interface PageFile {
  readonly contentType: string
  readonly identity: Uint8Array
  readonly encoded: ReadonlyMap<Encoding, Uint8Array>
}

/** Null: the page is not built; the API works without it. */
export function pageRoutes(directory = fileURLToPath(builtFile('page'))): Route[] | null {
  if (!existsSync(join(directory, 'index.html'))) return null
  const index = readPageFile(join(directory, 'index.html'))
  const assetsDir = join(directory, 'assets')
  const assets = new Map(
    readdirSync(assetsDir)
      .filter((name) => extensionOf(name) in contentTypes)
      .map((name) => [name, readPageFile(join(assetsDir, name))]),
  )
  return [
    { path: '/', access: 'token', handle: (call) => reply(index, call, 'no-cache') },
    {
      path: '/assets/{name}',
      access: 'token',
      handle: (call) => {
        const file = assets.get(call.parameters[0] ?? '')
        if (file === undefined) throw new ServiceError({ code: 'unknown_path' })
        return reply(file, call, 'private, max-age=31536000, immutable')
      },
    },
  ]
}

function reply(
  { contentType, identity, encoded }: PageFile,
  { acceptEncoding }: Call,
  cacheControl: string,
): Reply {
  const headers = { 'Content-Type': contentType, 'Cache-Control': cacheControl, Vary: 'Accept-Encoding' }
  for (const [encoding, body] of encoded)
    if (acceptsCoding(acceptEncoding, encoding))
      return { status: 200, headers: { ...headers, 'Content-Encoding': encoding }, body }
  return { status: 200, headers, body: identity }
}

function readPageFile(path: string): PageFile {
  const encoded = new Map<Encoding, Uint8Array>()
  for (const [encoding, suffix] of encodings)
    if (existsSync(`${path}${suffix}`)) encoded.set(encoding, readFileSync(`${path}${suffix}`))
  const contentType = contentTypes[extensionOf(path)] ?? 'application/octet-stream'
  return { contentType, identity: readFileSync(path), encoded }
}

function extensionOf(path: string): string {
  return /\.(\w+)$/.exec(path)?.[1] ?? ''
}
