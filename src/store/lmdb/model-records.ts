/**
 * What models leave behind, on LMDB: vectors of texts and images, scores of shadows, identities of versions.
 */
import type { Databases } from './databases.js'
import { embeddingKeyOf, shadowKeyOf, versionKeyOf } from './keys.js'
import type { RecordAccess } from './record-access.js'
import * as records from './records.js'
import type { Embedding, ModelRecords, Position } from '../store.js'

export class LmdbModelRecords implements ModelRecords {
  readonly #db: Databases
  readonly #access: RecordAccess

  constructor(databases: Databases, access: RecordAccess) {
    this.#db = databases
    this.#access = access
  }

  async putEmbeddings(encoder: string, entries: readonly Embedding[]): Promise<void> {
    const rows = packEmbeddings(encoder, entries)
    if (rows.length === 0) return
    const bytes = rows.reduce((sum, { record }) => sum + record.byteLength, 0)
    return this.#access.write(bytes, () => {
      for (const { key, record } of rows) this.#db.embeddings.putSync(key, record)
    })
  }

  readEmbedding(encoder: string, key: Uint8Array): Float32Array | undefined {
    const record = this.#access.read(this.#db.embeddings, embeddingKeyOf(encoder, key))
    return record && records.readVector(record)
  }

  async putShadowScores(position: Position, modelVersion: string, scores: Uint8Array): Promise<void> {
    const record = records.packBytes(scores)
    return this.#access.write(record.byteLength, () => {
      this.#db.shadowScores.putSync(shadowKeyOf(position, modelVersion), record)
    })
  }

  readShadowScores(position: Position, modelVersion: string): Uint8Array | undefined {
    const record = this.#access.read(this.#db.shadowScores, shadowKeyOf(position, modelVersion))
    return record && records.readBytes(record, 'shadow scores')
  }

  async claimVersion(modelVersion: string, identity: string): Promise<string> {
    const key = versionKeyOf(modelVersion)
    const record = records.packText(identity)
    return this.#access.write(record.byteLength, () => {
      const known = this.#db.modelVersions.getBinary(key)
      if (known !== undefined) return records.readText(known, 'identity of a model')
      this.#db.modelVersions.putSync(key, record)
      return identity
    })
  }

  readIdentity(modelVersion: string): string | undefined {
    const record = this.#access.read(this.#db.modelVersions, versionKeyOf(modelVersion))
    return record && records.readText(record, 'identity of a model')
  }
}

export function packEmbeddings(
  encoder: string,
  entries: readonly Embedding[],
): { readonly key: Uint8Array; readonly record: Uint8Array }[] {
  return entries.map(({ key, vector }) => ({
    key: embeddingKeyOf(encoder, key),
    record: records.packVector(vector),
  }))
}
