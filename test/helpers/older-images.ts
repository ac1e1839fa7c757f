/** Images as earlier versions stored them: without arrival times and without records of shared bytes. */
import { openDatabases } from '../../src/store/lmdb/databases.js'
import type { ImageKey } from '../../src/store/index.js'
import { imageKeyOf, imageUseKeyOf } from '../../src/store/lmdb/keys.js'
import { packBytes, packImageIdentity, readImageIdentity } from '../../src/store/lmdb/records.js'

/** Deletes from all images of a closed store the records that earlier versions did not write. */
export async function forgetArrivals(dataDir: string): Promise<void> {
  const databases = await openDatabases(dataDir, 2 ** 30)
  databases.root.transactionSync(() => {
    for (const { key, value } of [...databases.images.getRange({})]) {
      const { gallId, ...image } = readImageIdentity(value)
      databases.images.putSync(key, packImageIdentity(gallId, { ...image, arrivedAtMs: 0 }))
    }
    for (const key of [...databases.imageUses.getKeys({})]) databases.imageUses.removeSync(key)
  })
  await databases.root.close()
}

interface ImageUse {
  readonly sha256: Uint8Array
  readonly key: ImageKey
}

/** Changes use records as a version without them does: stale ones of deleted images, none of new ones. */
export async function changeUses(
  dataDir: string,
  { left, lacking }: { readonly left: readonly ImageUse[]; readonly lacking: readonly ImageUse[] },
): Promise<void> {
  const { root, imageUses } = await openDatabases(dataDir, 2 ** 30)
  const keyOf = ({ sha256, key }: ImageUse): Uint8Array => imageUseKeyOf(sha256, imageKeyOf(key))
  root.transactionSync(() => {
    for (const use of left) imageUses.putSync(keyOf(use), packBytes(new Uint8Array()))
    for (const use of lacking) imageUses.removeSync(keyOf(use))
  })
  await root.close()
}
