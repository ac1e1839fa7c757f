/**
 * `npm run test:install`: installs the bundle by docs/install.md, on a machine that systemd-nspawn boots and as a container image
 * that buildah builds. Prints a line for each check; exits with 1 if one fails, with 77 if this machine cannot do it.
 * INSTALL_ROOT_CACHE keeps the root directory of the machine; INSTALL_PART=unit or image runs one part.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { projectDir } from '../helpers/project.js'
import { startChecks } from './checks.js'
import { checkImage } from './image.js'
import { Machine } from './machine.js'
import { missingForInstall, output, rootArchive, unpackRoot } from './root.js'
import { checkUnit } from './unit.js'

const skippedStatus = 77
const startedAt = performance.now()
const print = (line: string): void => console.log(line)
const part = process.env['INSTALL_PART'] ?? 'all'
const scratch = mkdtempSync(join(tmpdir(), 'understudy-install-'))

/** Archives of this checkout, and of the same under the version that the documents name for an upgrade. */
function makeBundles(): string {
  const directory = join(scratch, 'bundles')
  output(join(projectDir, 'scripts/pinned'), ['node', join(projectDir, 'scripts/bundle.mjs'), directory])
  const { version } = JSON.parse(readFileSync(join(projectDir, 'package.json'), 'utf8')) as {
    version: string
  }
  const nameOf = (one: string): string => `understudy-${one}-linux-${process.arch}`
  const work = join(scratch, 'upgrade')
  mkdirSync(work)
  output('tar', ['-xzf', join(directory, `${nameOf(version)}.tar.gz`), '-C', work])
  const next = '0.2.0'
  renameSync(join(work, nameOf(version)), join(work, nameOf(next)))
  const manifest = join(work, nameOf(next), 'package.json')
  writeFileSync(
    manifest,
    readFileSync(manifest, 'utf8').replace(`"version": "${version}"`, `"version": "${next}"`),
  )
  output('tar', [
    '-czf',
    join(directory, `${nameOf(next)}.tar.gz`),
    '--owner=0',
    '--group=0',
    '-C',
    work,
    nameOf(next),
  ])
  const sum = output('sh', ['-c', `cd '${directory}' && sha256sum ${nameOf(next)}.tar.gz`])
  writeFileSync(join(directory, `${nameOf(next)}.tar.gz.sha256`), sum)
  rmSync(work, { recursive: true })
  return directory
}

async function unitPart(archive: string, bundles: string): Promise<number> {
  const root = join(scratch, 'machine')
  unpackRoot(archive, root)
  cpSync(bundles, join(root, 'root'), { recursive: true })
  let machine: Machine
  try {
    machine = await Machine.boot(root, `understudy-${process.pid}`)
  } catch (error) {
    print(`skipped: ${(error as Error).message}`)
    return skippedStatus
  }
  const checks = startChecks(print)
  try {
    await checkUnit({ machine, root, check: checks.check })
  } finally {
    await machine.powerOff()
  }
  return checks.violationCount() === 0 ? 0 : 1
}

async function imagePart(archive: string, bundles: string): Promise<number> {
  const checks = startChecks(print)
  const directory = join(scratch, 'image')
  mkdirSync(directory)
  await checkImage({ scratch: directory, archive, bundles, check: checks.check, print })
  return checks.violationCount() === 0 ? 0 : 1
}

async function run(): Promise<number> {
  const missing = missingForInstall()
  if (missing !== null) {
    print(`skipped: ${missing}`)
    return skippedStatus
  }
  let archive: string
  try {
    archive = rootArchive(print)
  } catch (error) {
    print(`skipped: no root directory of Debian could be made: ${(error as Error).message}`)
    return skippedStatus
  }
  const bundles = makeBundles()
  const statuses: number[] = []
  if (part !== 'image') statuses.push(await unitPart(archive, bundles))
  if (part !== 'unit') statuses.push(await imagePart(archive, bundles))
  const status = statuses.includes(1) ? 1 : Math.max(...statuses)
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0)
  print(
    `${status === 0 ? 'all checks passed' : status === 1 ? 'violations' : 'a part was skipped'}, ${seconds} s`,
  )
  return status
}

try {
  process.exitCode = await run()
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
