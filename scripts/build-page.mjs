// Builds the operator's page from src/page: node scripts/build-page.mjs DIRECTORY. Each file gets a twin that Brotli has
// compressed and one for gzip, so that the server compresses nothing. `report-document.js` is a module for Node, which
// `understudy report --html` imports; it contains Preact. `scripts/build.mjs` calls this.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { build } from 'vite'
import { pageConfig } from './page-config.mjs'

const outDir = resolve(process.argv[2] ?? 'dist/page')

await build({
  ...pageConfig,
  build: {
    outDir,
    emptyOutDir: true,
    target: 'es2022',
    // The Content-Security-Policy allows no inline script, and no data: address but those of images.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
})

for (const name of readdirSync(outDir, { recursive: true })) {
  if (!/\.(html|js|css|svg)$/.test(name)) continue
  const file = join(outDir, name)
  const bytes = readFileSync(file)
  const brotli = { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }
  writeFileSync(`${file}.br`, brotliCompressSync(bytes, brotli))
  writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }))
}

await build({
  ...pageConfig,
  ssr: { noExternal: true },
  build: {
    outDir,
    emptyOutDir: false,
    target: 'node22',
    ssr: 'report-document.tsx',
    minify: true,
    cssMinify: true,
  },
})
