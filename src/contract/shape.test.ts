/** Shapes of bodies, from the schema of the wire types. */
import { expect, test } from 'vitest'
import { cycleShape, rowShape } from './shape.js'

test('the rows of a list are objects with the members of the contract; other members have none', () => {
  const names = rowShape(cycleShape, 'engagement').members.map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(['gall_id', 'post_no', 'observed_at', 'status', 'views']))
  for (const member of ['cycle_id', 'no_member'])
    expect(() => rowShape(cycleShape, member)).toThrow(`${member} is not a list of objects`)
})
