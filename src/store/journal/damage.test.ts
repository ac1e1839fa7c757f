/**
 * Records that are damaged in the journal itself, on a real PostgreSQL: who reads them names the journal, not its own files.
 */
import { describe, expect, test } from 'vitest'
import { cluster, isOwner, newEnvironment, openReplica, postgresBin } from '../../../test/helpers/journals.js'
import { cycleIdAt, cycleSample } from '../../../test/helpers/store-samples.js'

const response = new Uint8Array(3 * 1024 * 1024).map((_, i) => i % 251)

describe.skipIf(postgresBin === null)('a record that is damaged in the journal', () => {
  test.each([
    [
      'a byte differs',
      'update understudy.record set value = set_byte(value, 40, 255 - get_byte(value, 40))',
      'part = 0',
    ],
    ['its last part is missing', 'delete from understudy.record', 'part = 3'],
    ['a part within it is missing', 'delete from understudy.record', 'part = 1'],
    ['its first part is missing', 'delete from understudy.record', 'part = 0'],
  ])('is named with its entry and the remedy, if %s', async (_, change, part) => {
    const environment = newEnvironment()
    const owner = await openReplica({ environment, name: 'one' })
    await isOwner(owner)
    await owner.appendCycle(cycleSample(1, { response }))
    const where = `where environment = '${environment}' and ${part}
      and (kind, key) in (select kind, key from understudy.record where environment = '${environment}' and part = 2)`
    const servers = await cluster()
    servers.sql(`${change} ${where}`, undefined, 'journal')
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
