/**
 * Room behind the end of the database: zeros, written and flushed after a commit, so that later commits write over
 * blocks that the file has already. A flush of such blocks is one write to the disk; a flush of a file that has grown
 * waits for the file system to find blocks and to write its journal too, which takes half as long again and at times
 * several times as long.
 *
 * Nothing is ever overwritten here: the zeros are appended (O_APPEND), wherever the end of the file is by then.
 */
import { open, statfs, type FileHandle } from 'node:fs/promises'

/**
 * Commits as large as those of late that find room: below the first number, it is filled up to the second. Little at a
 * time, so that it is done before the next cycle comes to its commit.
 */
const commitsMin = 6
const commitsMax = 8
const headRoomBytesMax = 64 * 1024 * 1024
/** One part in so many of the free disk may become head room. */
const diskShare = 100
const zeros = new Uint8Array(1024 * 1024)

export interface HeadRoomOptions {
  readonly dataDir: string
  /** Bytes of the file that are in use. */
  readonly bytesInUse: () => number
  /** The file is not to grow past this. */
  readonly bytesMax: number
}

export class HeadRoom {
  readonly #file: FileHandle
  readonly #options: HeadRoomOptions
  #bytesInUse: number
  /** How far a commit moves the end of what is in use: the farthest of late. */
  #commitBytes = 0
  #growing: Promise<void> | undefined
  #closing = false

  private constructor(file: FileHandle, options: HeadRoomOptions) {
    this.#file = file
    this.#options = options
    this.#bytesInUse = options.bytesInUse()
  }

  /** Behind the database file `path`. */
  static async open(path: string, options: HeadRoomOptions): Promise<HeadRoom> {
    return new HeadRoom(await open(path, 'a'), options)
  }

  /** To be called after a commit. Returns at once; where there is no room on the disk, nothing happens. */
  committed(): void {
    if (this.#closing) return
    this.#growing ??= this.#grow()
      .catch(() => undefined) // The database grows without it too, and tells what the disk refuses.
      .finally(() => (this.#growing = undefined))
  }

  /** Resolves when nothing grows. */
  async idle(): Promise<void> {
    await this.#growing
  }

  async close(): Promise<void> {
    this.#closing = true
    await this.idle()
    await this.#file.close()
  }

  async #grow(): Promise<void> {
    // What waited for the commit goes first.
    await new Promise((resolve) => setImmediate(resolve))
    if (this.#closing) return
    const before = this.#bytesInUse
    this.#bytesInUse = this.#options.bytesInUse()
    this.#commitBytes = Math.max(this.#bytesInUse - before, this.#commitBytes * 0.9)
    const { size } = await this.#file.stat()
    if (size < this.#bytesInUse + this.#commitBytes * commitsMin) await this.#append(size)
  }

  async #append(size: number): Promise<void> {
    const { bavail, bsize } = await statfs(this.#options.dataDir)
    const room = Math.min(this.#commitBytes * commitsMax, headRoomBytesMax, (bavail * bsize) / diskShare)
    let bytes = Math.floor(Math.min(this.#bytesInUse + room, this.#options.bytesMax)) - size
    if (bytes <= 0) return
    while (bytes > 0 && !this.#closing) {
      const { bytesWritten } = await this.#file.write(zeros, 0, Math.min(zeros.length, bytes))
      bytes -= bytesWritten
    }
    await this.#file.datasync()
  }
}
