/**
 * Overwrites the memory of each request body as soon as it is released, so that a reader which keeps it too long reads
 * 0xFF and fails. Load it into a server with `NODE_OPTIONS="--import …/poisoned-bodies.ts"`, or call `poison` in a test.
 */
import { existsSync } from 'node:fs'

/** `GrowingBody` of src/server or of dist/server. */
interface BodyClass {
  readonly prototype: Body
}
interface Body {
  readonly bytes: () => Uint8Array
  release: (this: Body) => void
}

export function poison({ prototype }: BodyClass): void {
  const { release } = prototype
  prototype.release = function (): void {
    this.bytes().fill(0xff)
    release.call(this)
  }
}

const built = new URL('../../dist/server/growing-body.js', import.meta.url)
// Preloaded into a server that was built; a test calls `poison` itself.
if (
  process.execArgv.concat(process.env['NODE_OPTIONS'] ?? '').some((flag) => flag.includes('poisoned-bodies'))
) {
  if (!existsSync(built)) throw new Error('build the service first')
  const { GrowingBody } = (await import(built.href)) as { GrowingBody: BodyClass }
  poison(GrowingBody)
}
