/**
 * Answers of past cycles must never change (interface.md 3.3, decisions.md 11). This keeps a digest of each and
 * compares whatever comes for that cycle later on.
 */
import { createHash } from 'node:crypto'
import type { Api } from './api.js'
import { Breach } from './breach.js'

export class Answers {
  private readonly digests = new Map<string, string>()
  private readonly cycleIds: string[] = []
  /** Answers read again and found unchanged. */
  rereadCount = 0

  /** Takes an answer in: the first of its cycle, or one that must equal the first to the byte. */
  take(cycleId: string, answer: Buffer, how: string): void {
    const digest = createHash('sha256').update(answer).digest('hex')
    const known = this.digests.get(cycleId)
    if (known === undefined) {
      this.digests.set(cycleId, digest)
      this.cycleIds.push(cycleId)
    } else if (known !== digest) {
      const got = `${digest} (${answer.length} bytes)`
      throw new Breach({ path: `the answer's SHA-256, ${how}`, expected: known, got, cycleId })
    }
  }

  /** Reads a stored answer again. */
  async reread(api: Api, cycleId: string): Promise<void> {
    const answer = await api.storedAnswer(cycleId)
    if (answer === null) {
      const path = `GET /v1/scores/${cycleId}: status`
      throw new Breach({ path, expected: 200, got: '404: an answer that was given is lost', cycleId })
    }
    this.take(cycleId, answer, 'read again')
    this.rereadCount++
  }

  /** Reads again the answer at `share`, 0 ≤ share < 1, of those taken so far. */
  async rereadAt(api: Api, share: number): Promise<void> {
    const cycleId = this.cycleIds[Math.floor(share * this.cycleIds.length)]
    if (cycleId !== undefined) await this.reread(api, cycleId)
  }

  /** Reads again the latest answers, up to `countMax`. */
  async rereadLatest(api: Api, countMax: number): Promise<void> {
    for (const cycleId of this.cycleIds.slice(-countMax)) await this.reread(api, cycleId)
  }
}
