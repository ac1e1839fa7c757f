/**
 * Records that are damaged in the journal itself, on a real PostgreSQL: who reads them names the journal, not its own files.
 */
import { describe, expect, test } from 'vitest'
import { cluster, isOwner, newEnvironment, openReplica, postgresBin } from '../../../test/helpers/journals.js'
import { cycleIdAt, cycleSample } from '../../../test/helpers/store-samples.js'

const response = new Uint8Array(3 * 1024 * 1024).map((_, i) => i % 251)

describe.skipIf(postgresBin === null)('a record that is damaged in the journal', () => {
  test('is named with its entry and the remedy', async () => {
    const environment = newEnvironment()
    const owner = await openReplica({ environment, name: 'one' })
    await isOwner(owner)
    await owner.appendCycle(cycleSample(1, { response }))
    const servers = await cluster()
    const damage = 'set value = set_byte(value, 40, 255 - get_byte(value, 40))'
    const where = `where environment = '${environment}' and length(value) > ${response.length}`
    servers.sql(`update understudy.record ${damage} ${where}`, undefined, 'journal')
    const opening = openReplica({ environment, name: 'two' })
    await expect(opening).rejects.toMatchObject({ code: 'unusable' })
    await expect(opening).rejects.toThrow(
      /^the journal is damaged: .* of responses, entry 1\); restore the database/,
    )
    await expect(opening).rejects.not.toThrow('delete')
    // The process that has the record goes on.
    expect(owner.readResponse(cycleIdAt(1))).toEqual(response)
  })
})
