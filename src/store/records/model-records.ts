/**
 * Records of models in the databases: vectors of texts and images, scores of shadows, identities of versions.
 */
import type { Databases } from './databases.js'
import { embeddingKeyOf, shadowKeyOf, shadowKeyRange, nameHash } from './keys.js'
import { bytesOf, type RecordAccess } from './record-access.js'
import * as records from './payloads.js'
import { StoreError } from '../store-error.js'
import type { Embedding, EnvironmentRole, ModelRecords } from '../store.js'

export function packEmbeddings(
  encoder: string,
  entries: readonly Embedding[],
): { readonly key: Uint8Array; readonly record: Uint8Array }[] {
  return entries.map(({ key, vector }) => ({
    key: embeddingKeyOf(encoder, key),
    record: records.packVector(vector),
  }))
}

export function modelRecords(
  db: Databases,
  access: RecordAccess,
  environment: Pick<EnvironmentRole, 'mayWrite' | 'onFollowed'>,
): ModelRecords {
  /**
   * A standby loads its model before it may write. What it claims is claimed in the journal when it becomes the owner, unless other
   * files have the version there: then it does not become the owner.
   */
  const waiting = new Map<string, string>()
  environment.onFollowed(async () => {
    if (!environment.mayWrite) return
    for (const [modelVersion, identity] of waiting) {
      const claimed = await claim(modelVersion, identity)
      if (claimed !== identity)
        throw new StoreError('unusable', `the version ${modelVersion} has different files in the journal`)
      waiting.delete(modelVersion)
    }
  })

  function claim(modelVersion: string, identity: string): Promise<string> {
    const key = nameHash(modelVersion)
    const record = records.packText(identity)
    return access.writes.write(record.byteLength, () => {
      const known = db.modelVersions.getBinary(key)
      if (known !== undefined) return readIdentity(known)
      db.modelVersions.put(key, record)
      return identity
    })
  }

  function identityOf(modelVersion: string): string | undefined {
    return access.read(db.modelVersions, nameHash(modelVersion), readIdentity)
  }

  return {
    async putEmbeddings(encoder, entries) {
      const rows = packEmbeddings(encoder, entries)
      if (rows.length === 0) return
      await access.writes.write(bytesOf(rows.map(({ record }) => record)), () => {
        for (const { key, record } of rows) db.embeddings.put(key, record)
      })
    },
    readEmbedding: (encoder, key) =>
      access.read(db.embeddings, embeddingKeyOf(encoder, key), records.readVector),
    async putShadowScores(position, modelVersion, scores) {
      const record = records.packShadowScores(modelVersion, scores)
      await access.writes.write(record.byteLength, () => {
        db.shadowScores.put(shadowKeyOf(position, modelVersion), record)
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
      const known = identityOf(modelVersion)
      if (known !== undefined) return known
      if (environment.mayWrite) return claim(modelVersion, identity)
      waiting.set(modelVersion, identity)
      return identity
    },
    readIdentity: identityOf,
  }
}

function readIdentity(record: Uint8Array): string {
  return records.readText(record, 'identity of a model')
}
