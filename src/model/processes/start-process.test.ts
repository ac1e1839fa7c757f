/** Child processes, as the addon starts them and as Node does: their owner cannot tell the two apart. */
import { spawnSync } from 'node:child_process'
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { loadFromAddon } from '../native.js'
import { startProcess } from './start-process.js'
import type { StartedProcess } from './started-process.js'

const addon = loadFromAddon('startProcess', 'reapProcess', 'createSocketPair')
const ways = [
  ['the addon', addon],
  ['Node', null],
] as const

describe.each(ways)('a process that %s starts', (_, chosen) => {
  const start = (code: string, extra: readonly (number | null)[] = []): StartedProcess => {
    const child = startProcess(['--input-type=module', '-e', code], extra, chosen)
    onTestFinished(() => child.kill())
    return child
  }
  const printedBy = async (code: string, extra: readonly (number | null)[] = []): Promise<string> => {
    const child = start(code, extra)
    const texts = [...child.outputs, child.messages!].map(textOf)
    await child.ended
    return (await Promise.all(texts)).join('')
  }

  test('is heard: what it prints, and what it says', async () => {
    const child = start(`
      import { readSync, writeSync } from 'node:fs'
      const asked = Buffer.alloc(5)
      readSync(3, asked)
      console.log('out'); console.error('err'); writeSync(3, 'said ' + asked)`)
    child.messages!.write('hello')
    const texts = Promise.all([...child.outputs, child.messages!].map(textOf))
    expect(await child.ended).toBe('ended with code 0')
    expect(await texts).toEqual(['out\n', 'err\n', 'said hello'])
  })

  test('ends with its code, or by the signal that ends it, and nothing is left of it', async () => {
    const codes = start('process.exit(7)')
    const killed = start('setInterval(() => {}, 1000)')
    killed.kill()
    for (const [child, how] of [
      [codes, 'ended with code 7'],
      [killed, 'was ended by SIGKILL'],
    ] as const) {
      for (const stream of [...child.outputs, child.messages!]) stream.resume()
      expect(await child.ended).toBe(how)
      await child.gone
      if (process.platform === 'linux') expect(existsSync(`/proc/${child.pid}`)).toBe(false)
      // Its number may be another process's by now.
      child.kill()
    }
  })

  test('has the descriptors that it is given behind its own', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'understudy-process-'))
    onTestFinished(() => rmSync(directory, { recursive: true }))
    const file = join(directory, 'given')
    const descriptor = openSync(file, 'w+')
    onTestFinished(() => closeSync(descriptor))
    const code = `import { writeSync } from 'node:fs'; writeSync(5, 'it was here')`
    expect(await printedBy(code, [null, descriptor])).toBe('')
    expect(readFileSync(file, 'utf8')).toBe('it was here')
  })

  test.runIf(process.platform === 'linux')(
    'blocks and ignores no more signals than any Node does',
    async () => {
      const code = `
      import { readFileSync } from 'node:fs'
      console.log(readFileSync('/proc/self/status', 'utf8').match(/^Sig(Blk|Ign):.*$/gm).join())`
      const plain = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' })
      // Without those that belong to the C library.
      const known = (masks: string): bigint[] =>
        [...masks.matchAll(/[0-9a-f]{16}/g)].map(([mask]) => BigInt(`0x${mask}`) & 0x7fffffffn)
      expect(known(await printedBy(code))).toEqual(known(plain.stdout))
    },
  )

  test('ends its lifeline when its owner is killed', async () => {
    const file = new URL('../../../dist/model/processes/start-process.js', import.meta.url)
    const child = `
      import { readSync, writeSync } from 'node:fs'
      console.log('running')
      try { readSync(0, Buffer.alloc(1)) } catch {}`
    const owner = start(`
      const { startProcess } = await import(${JSON.stringify(file.href)})
      const args = ['--input-type=module', '-e', ${JSON.stringify(child)}]
      const started = startProcess(args, []${chosen === null ? ', null' : ''})
      started.outputs[0].once('data', () => console.log(started.pid))`)
    for (const stream of [owner.outputs[1]!, owner.messages!]) stream.resume()
    const pid = Number(await new Promise((resolve) => owner.outputs[0]!.once('data', resolve)))
    owner.kill()
    await owner.gone
    await expect.poll(() => isRunning(pid), { timeout: 10_000 }).toBe(false)
  })
})

describe.runIf(addon !== null && process.platform === 'linux')('the addon', () => {
  test('hands no connection of the owner on, but those that are for the child', async () => {
    const code = `
      import { readdirSync, readlinkSync } from 'node:fs'
      const links = readdirSync('/proc/self/fd').flatMap((fd) => {
        try { return [readlinkSync('/proc/self/fd/' + fd)] } catch { return [] }
      })
      console.log(links.join(' '))`
    const child = startProcess(['--input-type=module', '-e', code], [], addon)
    const ours = new Set(connections(descriptorLinks()))
    child.outputs[1]!.resume()
    child.messages!.resume()
    const theirs = connections((await textOf(child.outputs[0]!)).trim().split(' '))
    expect(theirs.length).toBeGreaterThanOrEqual(4)
    expect(theirs.filter((link) => ours.has(link))).toEqual([])
  })

  test('tells at once of a process that cannot be started, and leaves no descriptor behind', () => {
    const before = descriptorLinks().length
    expect(() => startProcess(['-e', ''], [1_000_000], addon)).toThrow('fcntl: Bad file descriptor')
    expect(() => startProcess(['x'.repeat(200_000)], [], addon)).toThrow(
      'posix_spawn: Argument list too long',
    )
    expect(descriptorLinks()).toHaveLength(before)
  })
})

async function textOf(stream: NodeJS.ReadableStream): Promise<string> {
  let text = ''
  for await (const piece of stream) text += String(piece)
  return text
}

function descriptorLinks(): string[] {
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      return [readlinkSync(`/proc/self/fd/${descriptor}`)]
    } catch {
      // The one by which they were listed.
      return []
    }
  })
}

function connections(links: readonly string[]): string[] {
  return links.filter((link) => /^(socket|pipe):/.test(link))
}

/** False for one that has ended and was not waited for, too: its new parent may never do so. */
function isRunning(pid: number): boolean {
  try {
    return process.platform === 'linux'
      ? !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
      : process.kill(pid, 0)
  } catch {
    return false
  }
}
