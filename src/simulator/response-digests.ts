/**
 * Responses of past cycles never change (interface.md 3.3, decisions.md 11). This keeps a digest of each response and
 * compares every later response for the same cycle with it.
 */
import { createHash } from 'node:crypto'
import type { Api } from './api.js'
import { ContractViolation } from './errors.js'

export class ResponseDigests {
  private readonly digests = new Map<string, string>()
  private readonly cycleIds: string[] = []
  /** Stored responses read again and found unchanged. */
  rereadCount = 0

  /** Records the first response of a cycle; throws when a later one differs from it in any byte. */
  check(cycleId: string, response: Buffer, context: string): void {
    const digest = createHash('sha256').update(response).digest('hex')
    const known = this.digests.get(cycleId)
    if (known === undefined) {
      this.digests.set(cycleId, digest)
      this.cycleIds.push(cycleId)
    } else if (known !== digest) {
      const got = `${digest} (${response.length} bytes)`
      throw new ContractViolation({
        path: `SHA-256 of the response, ${context}`,
        expected: known,
        got,
        cycleId,
      })
    }
  }

  /** Reads a stored response again. */
  async reread(api: Api, cycleId: string): Promise<void> {
    const response = await api.storedResponse(cycleId)
    if (response === null) {
      const path = `GET /v1/scores/${cycleId}: status`
      throw new ContractViolation({ path, expected: 200, got: '404: a stored response is lost', cycleId })
    }
    this.check(cycleId, response, 'read again')
    this.rereadCount++
  }

  /** Reads again the response at `share`, 0 ≤ share < 1, of those recorded so far. */
  async rereadAt(api: Api, share: number): Promise<void> {
    const cycleId = this.cycleIds[Math.floor(share * this.cycleIds.length)]
    if (cycleId !== undefined) await this.reread(api, cycleId)
  }

  /** Reads again the latest responses, up to `countMax`. */
  async rereadLatest(api: Api, countMax: number): Promise<void> {
    for (const cycleId of this.cycleIds.slice(-countMax)) await this.reread(api, cycleId)
  }
}
