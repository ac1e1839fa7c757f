// What the linter holds: no `any` and nothing that leaks from one, no forgotten promise, and the direction of
// imports between the folders of src (ARCHITECTURE.md).
import js from '@eslint/js'
import { defineConfig, globalIgnores } from 'eslint/config'
import tseslint from 'typescript-eslint'

/** Folders of src by level: a folder imports lower levels only, and of those only `index.js`. */
const levels = {
  base: 0,
  contract: 0,
  codec: 1,
  native: 1,
  client: 1,
  pool: 2,
  records: 2,
  model: 3,
  images: 3,
  settings: 4,
  store: 4,
  cycle: 5,
  history: 6,
  server: 7,
  simulator: 7,
  admin: 8,
  cli: 9,
  page: 9,
}

/** Folders that import less than their level allows. */
const onlyFrom = {
  pool: ['base', 'contract'],
  client: ['base', 'contract'],
  simulator: ['base', 'contract', 'client'],
  page: ['contract'],
}

/**
 * Files that are imported one by one, by what browsers load too: the indexes of their folders need Node and packages. The
 * contract imports nothing else.
 */
const singleFiles = {
  client: 'base/(errors|flock|flush-directory|json|units)\\.js$|contract/(errors|operations|wire)\\.js$|',
  contract: 'base/(json|units)\\.js$|',
  page: 'base/units\\.js$|contract/(explain-tables|explain-words|health|input-words|page-facts|refusals|report-tables|report-words|sentences|tables|warnings|words)\\.js$|',
}

/** Packages that one folder alone may import: what it wraps can then be replaced in one place. */
const owners = {
  '@opentelemetry/api': 'admin',
  'prom-client': 'admin',
  preact: 'page',
  'preact-render-to-string': 'page',
  uplot: 'page',
  'uWebSockets.js': 'server',
  '@duckdb/node-api': 'history',
  commander: 'cli',
  lmdb: 'store',
  pg: 'store',
  'onnxruntime-node': 'model',
}

/**
 * A promise that nobody awaits ends the process when it rejects. `void` and `finally` hide such a promise from
 * no-floating-promises: `void` in an arrow function, and `finally` because its promise rejects as well.
 */
const backgroundRules = [
  {
    selector: 'UnaryExpression[operator="void"]',
    message:
      'Work that nobody awaits goes through inBackground (src/base); a call without a result needs a block.',
  },
  {
    selector: 'CallExpression[callee.property.name="finally"]',
    message: 'Use try and finally in an async function: the promise of `finally` rejects as well.',
  },
]

/** Children that are started elsewhere inherit the open database and the debugger's signal. */
const processRule = {
  selector: 'ImportDeclaration[importKind!="type"][source.value="node:child_process"]',
  message: 'src/base/processes.ts starts child processes.',
}
const sourceRules = [...backgroundRules, processRule]

/** Folders of a folder, and theirs. */
const depths = [0, 1, 2, 3]

/** The import rules of one folder. A folder of it may have the name of another folder: how far up a path leads tells them apart. */
function importRules(folder) {
  const allowed = Object.keys(levels).filter(
    (other) =>
      other === folder || ((onlyFrom[folder] ?? [other]).includes(other) && levels[other] < levels[folder]),
  )
  const forbidden = Object.keys(levels).filter((other) => !allowed.includes(other))
  const others = Object.keys(levels).filter((other) => other !== folder)
  const files = singleFiles[folder] ?? ''
  return depths.map((depth) => ({
    files: [`src/${folder}/${'*/'.repeat(depth)}*.{ts,tsx}`],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          paths: Object.entries(owners)
            .filter(([, owner]) => owner !== folder)
            .map(([name, owner]) => ({ name, message: `src/${owner} wraps this package.` })),
          patterns: [
            {
              regex: `^(\\.\\./){${depth + 1}}(?!${files})(${forbidden.join('|')})(/|$)`,
              message: `src/${folder} may not import this folder: imports point down the levels.`,
            },
            {
              regex: `^(\\.\\./){${depth + 1}}(?!${files}(${others.join('|')})/index\\.js$)(${others.join('|')})/`,
              message: 'Other folders are imported through their index.js.',
            },
          ],
        },
      ],
    },
  }))
}

export default defineConfig(
  globalIgnores(['dist/', 'dist-*/', 'build/', 'data/', 'coverage/']),
  js.configs.recommended,
  {
    files: ['**/*.{ts,tsx}'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      // Numbers read well in messages, and a one-line arrow may call what returns nothing.
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      // Texts are spread into code points on purpose, and wire types are numbers with a tag.
      '@typescript-eslint/no-misused-spread': ['error', { allow: ['string'] }],
      '@typescript-eslint/no-unsafe-unary-minus': 'off',
      // Columns are read by index in loops: `!` says that the row exists, in fewer words than a type that may be wrong.
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/non-nullable-type-assertion-style': 'error',
      eqeqeq: 'error',
    },
  },
  { linterOptions: { noInlineConfig: true, reportUnusedDisableDirectives: 'error' } },
  ...Object.keys(levels).flatMap(importRules),
  {
    files: ['src/**/*.{ts,tsx}'],
    ignores: ['**/*.test.ts'],
    rules: {
      '@typescript-eslint/no-floating-promises': ['error', { ignoreVoid: false }],
      'no-restricted-syntax': ['error', ...sourceRules],
    },
  },
  {
    // The client runs in other programs, which have no database.
    files: ['src/base/{flock,processes}.ts', 'src/client/**/*.ts'],
    ignores: ['**/*.test.ts'],
    rules: { 'no-restricted-syntax': ['error', ...backgroundRules] },
  },
  {
    // Comparisons that end at the first difference tell a client how much of a key it has guessed.
    files: ['src/server/**/*.ts'],
    ignores: ['**/*.test.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        ...sourceRules,
        ...[
          'BinaryExpression[operator=/^[=!]==?$/] > :matches(Identifier, MemberExpression > Identifier)[name=/^(authorization|apiKeys?)$/i]',
          'CallExpression[callee.property.name=/^(includes|indexOf|equals|compare|has)$/] > Identifier[name=/^(authorization|apiKeys?)$/i].arguments',
        ].map((selector) => ({ selector, message: 'Keys are compared by timingSafeEqual (api-keys.ts).' })),
      ],
    },
  },
  {
    // Texts of posts are hostile: they become text nodes and nothing else. Of the contract, the page bundles types and sentences.
    files: ['src/page/**/*.{ts,tsx}'],
    ignores: ['**/*.test.{ts,tsx}'],
    rules: {
      'no-restricted-syntax': [
        'error',
        ...sourceRules,
        {
          selector:
            ':matches(Identifier, JSXIdentifier)[name=/^(innerHTML|outerHTML|dangerouslySetInnerHTML|insertAdjacentHTML|setHTMLUnsafe|createContextualFragment|DOMParser|srcdoc|srcDoc)$/]',
          message: 'No text is interpreted as HTML.',
        },
        {
          selector:
            'ImportDeclaration[importKind!="type"][source.value=/contract.(?!explain-|health|input-words|page-facts|refusals|report-|sentences|tables|warnings|words)/]',
          message: 'The page imports only types, sentences, tables and page-facts of the contract.',
        },
      ],
    },
  },
  {
    files: ['**/*.js', '**/*.mjs'],
    languageOptions: {
      globals: { process: 'readonly', console: 'readonly', URL: 'readonly', AbortController: 'readonly' },
    },
  },
)
