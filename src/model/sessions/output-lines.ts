/**
 * What a child process prints, as lines for the log. Native code prints whatever it likes: a line is cut, a process has a
 * number of lines per period, and the rest is dropped and counted. So any amount of output takes a constant amount of
 * memory here.
 */
import { stripVTControlCharacters } from 'node:util'

const lineBytesMax = 1000
const linesPerPeriodMax = 50
const periodMs = 10_000
const lineFeed = 0x0a

export interface OutputLinesOptions {
  /** Called with each line that is not blank, without control sequences: ONNX Runtime prints in colours. */
  readonly onLine: (line: string) => void
  /** Called with the bytes that were dropped, once per period, and at the end. */
  readonly onDropped: (bytes: number) => void
}

export class OutputLines {
  readonly #options: OutputLinesOptions
  /** The line that is not complete yet, as far as it is kept. */
  readonly #line = Buffer.alloc(lineBytesMax)
  #lineBytes = 0
  /** True until the next line feed: the start of the line was dropped. */
  #isSkipping = false
  #droppedBytes = 0
  /** Runs during a period, which begins with the first output after the end of the one before. */
  #period: NodeJS.Timeout | null = null
  #lineCount = 0

  constructor(options: OutputLinesOptions) {
    this.#options = options
  }

  take(chunk: Uint8Array): void {
    this.#period ??= setTimeout(() => this.#endPeriod(), periodMs).unref()
    let from = 0
    while (from < chunk.length && this.#lineCount < linesPerPeriodMax) {
      const end = chunk.indexOf(lineFeed, from)
      const to = end < 0 ? chunk.length : end
      this.#append(chunk.subarray(from, to))
      if (end >= 0) this.#endLine()
      from = to + 1
    }
    if (from < chunk.length) this.#skip(chunk.subarray(from))
  }

  /** Ends the last line: there is no more output. */
  end(): void {
    if (this.#period !== null) clearTimeout(this.#period)
    this.#endLine()
    this.#reportDropped()
  }

  /** Nothing waits for more output, which may never come: an incomplete line is passed on, and of a cut one the rest is dropped. */
  #endPeriod(): void {
    this.#period = null
    if (this.#lineBytes > 0) {
      const isCut = this.#lineBytes === lineBytesMax
      this.#endLine()
      this.#isSkipping = isCut
    }
    this.#lineCount = 0
    this.#reportDropped()
  }

  #append(bytes: Uint8Array): void {
    const kept = this.#isSkipping ? 0 : Math.min(bytes.length, lineBytesMax - this.#lineBytes)
    this.#line.set(bytes.subarray(0, kept), this.#lineBytes)
    this.#lineBytes += kept
    this.#droppedBytes += bytes.length - kept
  }

  #endLine(): void {
    const line = stripVTControlCharacters(this.#line.toString('utf8', 0, this.#lineBytes))
    this.#lineBytes = 0
    this.#isSkipping = false
    if (line.trim() === '') return
    this.#lineCount++
    this.#options.onLine(line)
  }

  /** Nothing is searched: a process that prints without end must not keep this thread busy. */
  #skip(bytes: Uint8Array): void {
    this.#droppedBytes += bytes.length
    this.#isSkipping = bytes.at(-1) !== lineFeed
  }

  #reportDropped(): void {
    if (this.#droppedBytes === 0) return
    this.#options.onDropped(this.#droppedBytes)
    this.#droppedBytes = 0
  }
}
