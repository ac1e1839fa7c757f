/**
 * Writes log lines to a file descriptor in the background. A log that cannot be written (a full disk, a closed terminal, a
 * reader that stalls) loses lines and takes a bounded amount of memory, but never stops the service. The first line after
 * that says how many lines were lost.
 */
import { write } from 'node:fs'

/** Bytes of lines that wait to be written. */
const waitingBytesMax = 1024 * 1024
/** Bytes of one write. */
const pieceBytesMax = 64 * 1024
/** Delay before the next attempt on a busy descriptor. */
const retryMs = 100

type Write = (
  descriptor: number,
  bytes: Uint8Array,
  done: (error: NodeJS.ErrnoException | null, written: number) => void,
) => void

export class LogOutput {
  readonly #descriptor: number
  readonly #write: Write
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #busy = false
  #lostCount = 0
  #onIdle: (() => void)[] = []

  /** `write`: for tests. */
  constructor(descriptor: number, writeTo: Write = (target, bytes, done) => write(target, bytes, done)) {
    this.#descriptor = descriptor
    this.#write = writeTo
  }

  /** Adds one line, with its line feed. */
  write(line: string): void {
    const bytes = Buffer.from(line)
    if (this.#waitingBytes + bytes.length > waitingBytesMax) {
      this.#lostCount++
      return
    }
    this.#waiting.push(bytes)
    this.#waitingBytes += bytes.length
    if (!this.#busy) this.#writeNext()
  }

  /** Resolves when all lines are written or lost, after `msMax` at the latest. */
  async drain(msMax: number): Promise<void> {
    if (!this.#busy) return
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      this.#onIdle.push(resolve)
      timer = setTimeout(resolve, msMax)
    })
    clearTimeout(timer)
  }

  #writeNext(): void {
    const piece = this.#nextPiece()
    this.#busy = piece.length > 0
    if (this.#busy) this.#writePiece(Buffer.concat(piece), piece.length, false)
    else for (const resolve of this.#onIdle.splice(0)) resolve()
  }

  /** The lines of the next write: at least one, where any wait. */
  #nextPiece(): Buffer[] {
    let bytes = 0
    const end = this.#waiting.findIndex((line) => (bytes += line.length) > pieceBytesMax)
    const piece = this.#waiting.splice(0, end === -1 ? this.#waiting.length : Math.max(1, end))
    this.#waitingBytes -= piece.reduce((sum, line) => sum + line.length, 0)
    return piece
  }

  /** `begun`: a part of these lines has been written. */
  #writePiece(bytes: Buffer, lineCount: number, begun: boolean): void {
    const lost = begun ? 0 : this.#lostCount
    const all = lost === 0 ? bytes : Buffer.concat([lossLine(lost), bytes])
    this.#write(this.#descriptor, all, (error, written) => {
      if (error?.code === 'EAGAIN') {
        setTimeout(() => this.#writePiece(bytes, lineCount, begun), retryMs).unref()
      } else if (error !== null) {
        this.#lostCount += lineCount
        this.#writeNext()
      } else {
        this.#lostCount -= lost
        if (written < all.length) this.#writePiece(all.subarray(written), lineCount, true)
        else this.#writeNext()
      }
    })
  }
}

/** In the format of the other lines: a warning with its time. */
function lossLine(count: number): Buffer {
  const time = new Date().toISOString()
  return Buffer.from(
    `${JSON.stringify({ level: 40, time, lost: count, msg: 'lines of the log were lost' })}\n`,
  )
}
