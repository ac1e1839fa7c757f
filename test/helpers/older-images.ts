/** Images as programs stored them before they recorded arrivals, and which images share a picture. */
import { openDatabases } from '../../src/store/databases.js'
import { packImageIdentity, readImageIdentity } from '../../src/store/records.js'

/** Takes from all images of a closed store what earlier versions did not record. */
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
