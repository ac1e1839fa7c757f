/** Images as unreleased versions stored them: without arrival times. */
import { openDatabases } from '../../src/store/lmdb/environment.js'
import { packImageIdentity, readImageIdentity } from '../../src/store/records/payloads.js'

/** Deletes the arrival times of all images of a closed store. */
export async function forgetArrivals(dataDir: string): Promise<void> {
  const databases = await openDatabases(dataDir, 2 ** 30)
  databases.root.transactionSync(() => {
    for (const { key, value } of [...databases.images.getRange({})]) {
      const { gallId, ...image } = readImageIdentity(value)
      databases.images.putSync(key, packImageIdentity(gallId, { ...image, arrivedAtMs: 0 }))
    }
  })
  await databases.root.close()
}
