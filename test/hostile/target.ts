/**
 * The attacked server: a real process, its resources, and connections for raw bytes.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { head } from '../harness/http.js'
import { descriptorCount, memoryMib } from '../harness/proc.js'
import { projectDir, ServerProcess } from '../helpers/server-process.js'
import type { LoopDelay } from './loop-delay.js'

/** Resources of a process; zeros without /proc. */
export interface ProcessResources {
  readonly descriptors: number
  readonly rssMib: number
  /** Without the pages of files: the kernel keeps as many pages of the data file as memory allows. */
  readonly privateMib: number
  readonly rssPeakMib: number
}

/** Time limit for the response to an incomplete request. */
const responseMsMax = 200
const loopDelayMsMax = 10_000

export class Target {
  readonly server: ServerProcess
  readonly #scratchDir = mkdtempSync(join(tmpdir(), 'understudy-hostile-'))
  readonly #loopDelayFile = join(this.#scratchDir, 'loop-delay.json')
  #marks = 0

  constructor(env: Record<string, string> = {}) {
    const watch = pathToFileURL(join(projectDir, 'test', 'hostile', 'loop-delay.ts')).href
    this.server = new ServerProcess({
      UNDERSTUDY_LOG_LEVEL: 'info',
      NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --import ${watch}`,
      HOSTILE_LOOP_DELAY_FILE: this.#loopDelayFile,
      ...env,
    })
  }

  get port(): number {
    return this.server.port
  }

  async start(): Promise<this> {
    await this.server.start()
    return this
  }

  async dispose(): Promise<void> {
    await this.server.dispose()
    rmSync(this.#scratchDir, { recursive: true, force: true })
  }

  /** The delay of the server's event loop since the last call. */
  async loopDelay(): Promise<LoopDelay> {
    rmSync(this.#loopDelayFile, { force: true })
    if (this.server.pid !== undefined) process.kill(this.server.pid, 'SIGUSR2')
    for (const until = performance.now() + loopDelayMsMax; performance.now() < until;) {
      try {
        return JSON.parse(readFileSync(this.#loopDelayFile, 'utf8')) as LoopDelay
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    }
    throw new Error('the server does not report the delay of its event loop')
  }

  /** Head of a request with the right key. */
  head(line: string, ...headers: string[]): string {
    return head(this.server, line, ...headers)
  }

  resources(): ProcessResources {
    const pid = this.server.pid ?? 0
    return {
      descriptors: descriptorCount(pid) ?? 0,
      rssMib: memoryMib(pid, 'VmRSS') ?? 0,
      privateMib: memoryMib(pid, 'RssAnon') ?? 0,
      rssPeakMib: memoryMib(pid, 'VmHWM') ?? 0,
    }
  }

  /** Opens a connection whose errors are ignored. */
  open(): Socket {
    return connect(this.port, '127.0.0.1').on('error', () => undefined)
  }

  /** Sends bytes on a new connection; resolves with all bytes received when it ends or when `done` returns true. */
  async sendRaw(bytes: Uint8Array | string, done: (received: string) => boolean): Promise<string> {
    const socket = this.open()
    let received = ''
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        socket.destroy()
        resolve(received)
      }
      const timer = setTimeout(end, 30_000)
      socket.setEncoding('latin1')
      socket.on('data', (text: string) => {
        received += text
        if (done(received)) end()
      })
      socket.on('close', end)
      socket.write(bytes)
    })
  }

  /**
   * As `sendRaw`, and closes the sending side: a server that waits for more bytes then closes the connection, instead of
   * both waiting for the other.
   */
  async sendRawAndEnd(bytes: Uint8Array, done: (received: string) => boolean): Promise<string> {
    const socket = this.open()
    let received = ''
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        socket.destroy()
        resolve(received)
      }
      const timer = setTimeout(() => socket.end(), responseMsMax)
      socket.setEncoding('latin1')
      socket.on('data', (text: string) => {
        received += text
        if (done(received)) end()
      })
      socket.on('close', end)
      socket.write(bytes)
    })
  }

  /** Resolves when the server has processed and logged everything that was sent before. */
  async settle(): Promise<void> {
    const path = `/v1/mark-${String(++this.#marks)}-end`
    await this.server.call({ path })
    await this.server.logged(path)
  }

  /** Resolves with true when the server has at most `count` descriptors open, with false after a time limit. */
  async waitForDescriptors(count: number): Promise<boolean> {
    const until = performance.now() + 20_000
    while (this.resources().descriptors > count) {
      if (performance.now() > until) return false
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    return true
  }
}

/** Status codes of the responses in the bytes that a connection has received. */
export function statuses(received: string): number[] {
  return [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]))
}

/** For `done` of `sendRaw`: one complete response of the service, or one of uWebSockets.js itself before it closes. */
export function isCompleteResponse(received: string): boolean {
  const headEnd = received.indexOf('\r\n\r\n')
  if (headEnd < 0) return false
  const length = /\r\ncontent-length: (\d+)/i.exec(received.slice(0, headEnd))?.[1]
  return length !== undefined && received.length >= headEnd + 4 + Number(length)
}
