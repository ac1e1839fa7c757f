// Compiles src, without the page, into the directory that is its argument. It replaces only what has changed since its last
// call for this directory, and checks again only what a change may concern. `scripts/build.mjs` calls this.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import transformTypia from 'typia/lib/transform'
import ts from 'typescript'
import { hashFiles, isStampedWith, withImports } from './source-hash.mjs'

const root = resolve(fileURLToPath(new URL('..', import.meta.url)))
const target = resolve(process.argv[2])
const state = join(target, '.build')
const settingsStamp = join(state, 'compiler')
const validatorsStamp = join(state, 'validators')
const incrementalState = join(state, 'tsbuildinfo')

/** With another compiler, other settings or another script, nothing of an earlier call is of use. */
const settings = hashFiles(root, [
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'scripts/build-server.mjs',
])
mkdirSync(state, { recursive: true })
if (!isStampedWith(settingsStamp, settings)) {
  for (const file of [incrementalState, validatorsStamp]) rmSync(file, { force: true })
  writeFileSync(settingsStamp, settings)
}

const { fileNames, options } = ts.getParsedCommandLineOfConfigFile(
  join(root, 'tsconfig.build.json'),
  { outDir: target, incremental: true, tsBuildInfoFile: incrementalState },
  { ...ts.sys, onUnRecoverableConfigFileDiagnostic: (problem) => fail([problem]) },
)
const program = ts.createIncrementalProgram({ rootNames: fileNames, options })
const problems = ts.sortAndDeduplicateDiagnostics([
  ...program.getOptionsDiagnostics(),
  ...program.getGlobalDiagnostics(),
  ...program.getSyntacticDiagnostics(),
  ...program.getSemanticDiagnostics(),
])
if (problems.length > 0) fail(problems)

const typiaProblems = []
const typia = transformTypia(
  program.getProgram(),
  {},
  { addDiagnostic: (problem) => typiaProblems.push(problem) },
)
const emit = (sourceFile, emitter) =>
  emitter.emit(sourceFile, replaceFile, undefined, false, { before: [typia] })

// The compiler writes what has changed. A validator that typia generates depends on types of other files, too.
const names = fileNames.map((file) => relative(root, file).split(sep).join('/'))
const withValidators = names.filter((name) => /from 'typia'/.test(readFileSync(join(root, name), 'utf8')))
const validatorInputs = hashFiles(root, withImports(root, withValidators))
if (!isStampedWith(validatorsStamp, validatorInputs)) {
  rmSync(validatorsStamp, { force: true })
  for (const name of withValidators) emit(program.getSourceFile(join(root, name)), program.getProgram())
}
if (typiaProblems.length === 0) emit(undefined, program)
if (typiaProblems.length > 0) fail(typiaProblems)
writeFileSync(validatorsStamp, validatorInputs)

const outputs = new Set(
  names.flatMap((name) => ['', '.map'].map((end) => name.replace(/^src\/(.*)\.ts$/, `$1.js${end}`))),
)
const others = /^(page|understudy-client|\.build)\//
for (const path of readdirSync(target, { recursive: true })) {
  const name = path.split(sep).join('/')
  if (/\.js(\.map)?$/.test(name) && !others.test(name) && !outputs.has(name)) rmSync(join(target, path))
}

/** A program that is reading the old file keeps it. */
function replaceFile(name, text) {
  if (existsSync(name)) rmSync(name)
  else mkdirSync(dirname(name), { recursive: true })
  writeFileSync(name, text)
}

function fail(diagnostics) {
  const host = {
    getCanonicalFileName: (name) => name,
    getCurrentDirectory: () => root,
    getNewLine: () => '\n',
  }
  const format = process.stderr.isTTY ? ts.formatDiagnosticsWithColorAndContext : ts.formatDiagnostics
  console.error(format(diagnostics, host))
  process.exit(1)
}
