/** Mutants of src/simulator. */
import type { MutantGroup } from './mutant.js'

export const simulatorMutants: readonly MutantGroup[] = [
  {
    file: 'src/simulator/check-response.ts',
    killedBy: ['src/simulator/check-response.test.ts'],
    mutants: [
      {
        breaks: 'a post that occurs twice is a violation',
        find: "if (seen.has(key)) this.fail(path, 'each post once', `${key} again`)",
        replace: '',
      },
      {
        breaks: 'a lost post is a violation',
        find: 'if (lost !== undefined) this.fail(',
        replace: 'if (lost !== undefined && next === 0) this.fail(',
      },
      {
        breaks: 'a share above 1 is a violation',
        find: '!(share >= 0 && share <= 1)',
        replace: '!(share >= 0)',
      },
      {
        breaks: 'scored_at is not before received_at',
        find: 'if (msOf(scored_at) < msOf(received_at)) this.fail(',
        replace: 'if (msOf(scored_at) > msOf(received_at)) this.fail(',
      },
      {
        breaks: 'weights apply from their first cycle on',
        find: 'msOf(cycleTime) >= msOf(first_cycle_time)',
        replace: 'msOf(cycleTime) > msOf(first_cycle_time)',
      },
      {
        breaks: 'a row without a score has a null score',
        find: 'if (!scored) this.equal(`${path}.score`, null, row.score)',
        replace: '',
      },
    ],
  },
  {
    file: 'src/simulator/ledger.ts',
    killedBy: ['src/simulator/ledger.test.ts'],
    mutants: [
      {
        breaks: 'candidates enter before removals are applied',
        find: 'if (this.pending.has(keyOf(candidate))) continue',
        replace: 'if (this.pending.has(keyOf(candidate)) || request.removals.length > 0) continue',
      },
      { breaks: 'a title of white space is missing', find: "title.trim() === ''", replace: "title === ''" },
      {
        breaks: 'the missing share is over five counters per row',
        find: 'row.up, row.down, row.comment_cnt, row.rtb_vote',
        replace: 'row.up, row.down, row.comment_cnt',
      },
      {
        breaks: 'a post number is one post only within its gallery',
        find: 'return `${post.post_no}/${post.gall_id}`',
        replace: 'return String(post.post_no)',
      },
    ],
  },
  {
    file: 'src/simulator/api.ts',
    killedBy: ['src/simulator/api.test.ts'],
    mutants: [
      {
        breaks: 'a failure that waiting does not repair is not an outage',
        find: 'error instanceof ConnectionError && !isTemporaryError(error)',
        replace: 'error instanceof ResponseError && !isTemporaryError(error)',
      },
      {
        breaks: 'the end of an outage is reported',
        find: 'if (this.outageSinceMs !== null) onOutage?.(null)',
        replace: '',
      },
    ],
  },
  {
    file: 'src/simulator/aborting-fetch.ts',
    killedBy: ['src/simulator/api.test.ts'],
    mutants: [
      {
        breaks: 'a call whose response is not read arrives completely',
        find: "if (how === 'response-unread') pieces.close()",
        replace: '',
      },
    ],
  },
  {
    file: 'src/simulator/rng.ts',
    killedBy: ['src/simulator/rng.test.ts'],
    mutants: [
      {
        breaks: 'integers reach their maximum',
        find: '(maximum - minimum + 1)',
        replace: '(maximum - minimum)',
      },
      {
        breaks: 'streams with different labels differ',
        find: "labels.join('\\u0000')",
        replace: "labels.join('')",
      },
    ],
  },
  {
    file: 'src/simulator/galleries.ts',
    killedBy: ['src/simulator/galleries.test.ts'],
    mutants: [
      {
        breaks: 'the options are part of the name of a simulation',
        find: 'JSON.stringify([worldVersion, String(seed), hours, postsPerDay, galleries, imageShare])',
        replace: 'JSON.stringify([worldVersion, String(seed), hours, postsPerDay, galleries])',
      },
    ],
  },
  {
    file: 'src/simulator/delivery.ts',
    killedBy: ['src/simulator/simulator.test.ts'],
    mutants: [
      {
        breaks: 'a response that changes is a violation',
        find: 'if (known === digest) return',
        replace: 'if (known.length === digest.length) return',
      },
      {
        breaks: 'a lost response is a violation',
        find: 'if (response === null) {',
        replace: 'if (response?.length === 0) {',
      },
    ],
  },
  {
    file: 'src/simulator/simulator.ts',
    killedBy: ['src/simulator/simulator.test.ts'],
    mutants: [
      {
        breaks: 'the last cycle removes the posts of the simulation',
        find: 'keepPosts ? 0 : await this.removePosts()',
        replace: 'keepPosts ? await this.removePosts() : 0',
      },
    ],
  },
  {
    file: 'src/simulator/outcome-reports.ts',
    killedBy: ['src/simulator/outcome-reports.test.ts'],
    mutants: [
      {
        breaks: 'outcomes that are counted wrongly are a violation',
        find: 'if (created + updated !== received) fail(',
        replace: 'if (created + updated > received) fail(',
      },
      {
        breaks: 'outcomes that are counted twice are a violation',
        find: 'if (created + updated !== received) fail(',
        replace: 'if (created + updated < received) fail(',
      },
      {
        breaks: 'acknowledged outcomes that are counted as new are a violation',
        find: "if (updated < known) fail('updated', `${known} or more`, updated)",
        replace: '',
      },
    ],
  },
]
