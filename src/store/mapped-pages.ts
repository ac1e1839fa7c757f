/**
 * Keeps the data file's share of this process's memory small. Whatever LMDB reads of its map stays mapped, up to the
 * whole file in the end; the kernel could take it back, but the process looks as if it grew for ever, and a limit of
 * memory that counts mapped pages would end it. Read again, a page comes from the kernel's cache.
 */

/** Pages that are read are mapped with their neighbours: about what one commit maps. */
const commitBytes = 256 * 1024
/** So much is mapped at most between two releases. Letting go of it takes less than a millisecond. */
const mappedBytesMax = 32 * 1024 * 1024

export class MappedPages {
  readonly #release: () => void
  #mappedBytes = 0
  #scheduled: NodeJS.Immediate | undefined

  constructor(release: () => void) {
    this.#release = release
  }

  /** A record of so many bytes was read. */
  read(bytes: number): void {
    this.#mappedBytes += bytes
    if (this.#mappedBytes < mappedBytesMax) return
    // Not before the answer that was read for is on its way.
    this.#scheduled ??= setImmediate(() => {
      this.#scheduled = undefined
      this.#mappedBytes = 0
      this.#release()
    })
  }

  committed(): void {
    this.read(commitBytes)
  }

  close(): void {
    clearImmediate(this.#scheduled)
  }
}
