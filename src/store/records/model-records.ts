/**
 * Records of models in the databases: vectors of texts and images, scores of shadows, identities of versions.
 */
import type { Databases } from './databases.js'
import { embeddingKeyOf, shadowKeyOf, shadowKeyRange, nameHash } from './keys.js'
import { bytesOf, type RecordAccess } from './record-access.js'
import * as records from './payloads.js'
import type { Embedding, ModelRecords } from '../store.js'

export function packEmbeddings(
  encoder: string,
  entries: readonly Embedding[],
): { readonly key: Uint8Array; readonly record: Uint8Array }[] {
  return entries.map(({ key, vector }) => ({
    key: embeddingKeyOf(encoder, key),
    record: records.packVector(vector),
  }))
}

export function modelRecords(db: Databases, access: RecordAccess): ModelRecords {
  return {
    async putEmbeddings(encoder, entries) {
      const rows = packEmbeddings(encoder, entries)
      if (rows.length === 0) return
      await access.writes.write(bytesOf(rows.map(({ record }) => record)), () => {
        for (const { key, record } of rows) db.embeddings.putSync(key, record)
      })
    },
    readEmbedding: (encoder, key) =>
      access.read(db.embeddings, embeddingKeyOf(encoder, key), records.readVector),
    async putShadowScores(position, modelVersion, scores) {
      const record = records.packShadowScores(modelVersion, scores)
      await access.writes.write(record.byteLength, () => {
        db.shadowScores.putSync(shadowKeyOf(position, modelVersion), record)
      })
    },
    readShadowScores: (position, modelVersion) =>
      access.read(db.shadowScores, shadowKeyOf(position, modelVersion), records.readShadowScores)?.scores,
    shadowVersions(position) {
      access.checkOpen()
      const [start, end] = shadowKeyRange(position)
      return [...db.shadowScores.getRange({ start, end })].map(
        ({ value }) => records.readShadowScores(value).modelVersion,
      )
    },
    async claimVersion(modelVersion, identity) {
      const key = nameHash(modelVersion)
      const record = records.packText(identity)
      return access.writes.write(record.byteLength, () => {
        const known = db.modelVersions.getBinary(key)
        if (known !== undefined) return readIdentity(known)
        db.modelVersions.putSync(key, record)
        return identity
      })
    },
    readIdentity: (modelVersion) => access.read(db.modelVersions, nameHash(modelVersion), readIdentity),
  }
}

function readIdentity(record: Uint8Array): string {
  return records.readText(record, 'identity of a model')
}
