/**
 * The least that any server does for a request: it receives the bytes and sends as many as requested, and for what becomes
 * durable it writes what it received and flushes it, all requests that wait at a time in one flush. A child process of the
 * throughput scenario; it sends its port to its parent, receives the form of the responses, and ends with its parent.
 */
import { open, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { App, us_socket_local_port, type HttpResponse } from 'uWebSockets.js'
import { jsonBodyBytesMax } from '../../src/contract/limits.js'

/** A message of the parent. */
export interface BareResponse {
  /** With the reason phrase. */
  readonly status: string
  readonly bytes: number
  readonly isDurable: boolean
}

const fileBytes = 64 * 1024 * 1024
const payload = Buffer.alloc(jsonBodyBytesMax, '0')
let form: BareResponse = { status: '200 OK', bytes: 0, isDurable: false }

/** Appends to a file that has its blocks already; one write and one flush for all that wait. */
class GroupedFile {
  readonly #file: FileHandle
  #waiting: { readonly bytes: Buffer; readonly done: () => void }[] = []
  #isWriting = false
  #at = 0

  constructor(file: FileHandle) {
    this.#file = file
  }

  static async open(path: string): Promise<GroupedFile> {
    const file = await open(path, 'w+')
    await file.write(Buffer.alloc(fileBytes), 0, fileBytes, 0)
    await file.datasync()
    return new GroupedFile(file)
  }

  append(bytes: Buffer, done: () => void): void {
    this.#waiting.push({ bytes, done })
    if (!this.#isWriting) void this.#write()
  }

  async #write(): Promise<void> {
    this.#isWriting = true
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0)
      const bytes = Buffer.concat(batch.map((each) => each.bytes))
      if (this.#at + bytes.length > fileBytes) this.#at = 0
      await this.#file.write(bytes, 0, bytes.length, this.#at)
      await this.#file.datasync()
      this.#at += bytes.length
      for (const { done } of batch) done()
    }
    this.#isWriting = false
  }
}

const file = await GroupedFile.open(join(process.argv[2] ?? '.', 'bare.bin'))

function respond(response: HttpResponse): void {
  const { status, bytes } = form
  response.cork(() => {
    response.writeStatus(status)
    response.writeHeader('Content-Type', 'application/json; charset=utf-8')
    response.end(payload.subarray(0, bytes))
  })
}

process.on('message', (message) => {
  form = message as BareResponse
  process.send?.('ready')
})
process.on('disconnect', () => process.exit(0))

App()
  .any('/*', (response, request) => {
    if (request.getHeader('content-length') === '') {
      respond(response)
      return
    }
    let isOpen = true
    const chunks: Buffer[] = []
    response.onAborted(() => (isOpen = false))
    response.onData((chunk, isLast) => {
      chunks.push(Buffer.from(new Uint8Array(chunk)))
      if (!isLast) return
      const received = Buffer.concat(chunks)
      const done = (): void => {
        if (isOpen) respond(response)
      }
      if (form.isDurable) file.append(received, done)
      else done()
    })
  })
  .listen('127.0.0.1', 0, (socket) => {
    if (socket === false) throw new Error('the bare server cannot listen')
    process.send?.({ port: us_socket_local_port(socket) })
  })
