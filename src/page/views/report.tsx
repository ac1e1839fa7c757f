/** Report: how the model ranks what the operators pick, compared with other versions and simple orders. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Difference, Group, Offender, Ranker, Report as ReportData } from '../service/history.js'
import { useQuery } from '../service/query.js'
import { dayClock, duration, integer, percent, words } from '../format.js'
import { Badge, Facts, Missing, Panel, type Tone } from '../parts/common.js'
import { IntervalCell, scaleOf } from '../parts/interval.js'
import { postAddress } from '../router.js'

export function Report() {
  const { data, error } = useQuery<ReportData>('/api/report', { refreshOn: ['cycle'] })
  return (
    <div class="view">
      <div class="list-head">
        <h1>Report</h1>
        {data !== null && <p class="muted list-note">{windowText(data)}</p>}
      </div>
      {data === null ? (
        <Missing error={error} what="report; the service reads its stored cycles" />
      ) : data.window.cycles === 0 ? (
        <p class="empty">No cycle is stored.</p>
      ) : (
        <>
          <Summary report={data} />
          <Rankers rankers={data.rankers} />
          <Differences differences={data.differences} />
          <Groups by={data.by} />
          <FirstScores report={data} />
        </>
      )}
    </div>
  )
}

function windowText({ window }: ReportData): string {
  const { cycles, days, from, to } = window
  return `${integer(cycles)} cycles on ${integer(days)} ${days === 1 ? 'day' : 'days'}, ${dayClock(from)} to ${dayClock(to)} KST`
}

function Summary({ report: { visits, rankers, window } }: { readonly report: ReportData }) {
  const model = rankers[0]
  const budget = model?.same_budget
  return (
    <div class="tiles">
      <section class="panel tile" aria-label="What the operators did">
        <h2>What the operators did</h2>
        <p class="figure">
          {integer(visits.saved)} <small>saved of {integer(visits.total)}</small>
        </p>
        <Facts
          facts={[
            ['Hidden', integer(visits.hidden)],
            ['Deleted', integer(visits.deleted)],
            ['Aged out', integer(visits.aged_out)],
            ['Still pending', integer(visits.open)],
          ]}
        />
      </section>
      {budget !== undefined && (
        <section class="panel tile" aria-label="What the model would have picked">
          <h2>The model with the same budget</h2>
          <p class="figure">
            {percent(budget.recall, 0)} <small>of the saved posts found</small>
          </p>
          <Facts
            facts={[
              ['Picks', integer(budget.picks)],
              ['Saved', integer(budget.saved)],
              ['Hidden or deleted', integer(budget.hidden + budget.deleted)],
              ['Aged out', integer(budget.aged_out)],
              ['Earlier (median)', minutes(budget.lead_minutes.p50)],
            ]}
          />
        </section>
      )}
      <section class="panel tile" aria-label="In force">
        <h2>In force</h2>
        <p class="figure">
          {integer(window.versions.length)}{' '}
          <small>{window.versions.length === 1 ? 'pair' : 'pairs'} of model / weights</small>
        </p>
        <ul class="plain">
          {window.versions.map((version) => (
            <li key={version}>{version}</li>
          ))}
        </ul>
      </section>
    </div>
  )
}

const baselines: Readonly<Record<string, string>> = {
  views: 'by views',
  up: 'by recommendations',
  comment_cnt: 'by comments',
  rtb_vote: 'by Send-to-Best votes',
  newest: 'newest first',
  up_per_view: 'by recommendations per view',
}

function rankerName(name: string): string {
  return baselines[name] ?? name.replace(/^shadow:/, '')
}

interface Column {
  readonly title: string
  readonly of: (ranker: Ranker) => Pick<Ranker['rank_percentile'], 'mean' | 'ci95'>
}

const rankerColumns: readonly Column[] = [
  { title: 'Ranked below a saved post', of: ({ rank_percentile }) => rank_percentile },
  {
    title: 'Saved posts found',
    of: ({ same_budget: { recall, ci95 } }) => ({ mean: recall, ci95: ci95.recall }),
  },
  {
    title: 'Decided picks saved',
    of: ({ same_budget: { precision, ci95 } }) => ({ mean: precision, ci95: ci95.precision }),
  },
  {
    title: 'Hidden or deleted',
    of: ({ same_budget: { harm, ci95 } }) => ({ mean: harm, ci95: ci95.harm }),
  },
]

function Rankers({ rankers }: { readonly rankers: readonly Ranker[] }) {
  const scales = rankerColumns.map(({ of }) => scaleOf(rankers.map(of)))
  return (
    <Panel title="Orders of the posts">
      <Wide label="Orders of the posts">
        <table>
          <caption>Means with 95 % intervals. The budget is what the operators picked in each cycle.</caption>
          <thead>
            <tr>
              <th scope="col">Order</th>
              {rankerColumns.map(({ title }) => (
                <th key={title} scope="col">
                  {title}
                </th>
              ))}
              <th scope="col" class="number">
                Earlier
              </th>
            </tr>
          </thead>
          <tbody>
            {rankers.map((ranker) => (
              <tr key={ranker.name} class={ranker.name in baselines ? 'baseline' : ''}>
                <th scope="row">{rankerName(ranker.name)}</th>
                {rankerColumns.map(({ title, of }, i) => (
                  <IntervalCell key={title} {...of(ranker)} scale={scales[i] ?? { low: 0, high: 1 }} />
                ))}
                <td class="number">{minutes(ranker.same_budget.lead_minutes.p50)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </Panel>
  )
}

const verdictTones: Readonly<Record<string, Tone>> = { better: 'ok', worse: 'fail' }

function Differences({ differences }: { readonly differences: readonly Difference[] }) {
  if (differences.length === 0) return null
  const scale = scaleOf(differences, 0)
  return (
    <Panel title="Comparison">
      <Wide label="Comparison">
        <table>
          <caption>
            Difference of the share ranked below a saved post, over the posts that both ranked. The line is no
            difference.
          </caption>
          <thead>
            <tr>
              <th scope="col">Pair</th>
              <th scope="col">Difference</th>
              <th scope="col">Verdict</th>
              <th scope="col" class="number">
                Posts
              </th>
              <th scope="col" class="number">
                More days needed
              </th>
            </tr>
          </thead>
          <tbody>
            {differences.map((difference) => (
              <tr key={`${difference.a} ${difference.b}`}>
                <th scope="row">
                  {rankerName(difference.a)} <span class="muted">against</span> {rankerName(difference.b)}
                </th>
                <IntervalCell {...difference} scale={scale} />
                <td>
                  <Badge tone={verdictTones[difference.verdict ?? ''] ?? 'plain'}>
                    {difference.verdict ?? 'nothing in common'}
                  </Badge>
                </td>
                <td class="number">{integer(difference.n)}</td>
                <td class="number">{difference.verdict === null ? '–' : integer(difference.more_days)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </Panel>
  )
}

function Groups({ by }: { readonly by: ReportData['by'] }) {
  const kinds = Object.keys(by).filter((kind) => (by[kind]?.length ?? 0) > 0)
  const [chosen, setChosen] = useState('gallery')
  const kind = kinds.includes(chosen) ? chosen : kinds[0]
  const groups: readonly Group[] = (kind === undefined ? undefined : by[kind]) ?? []
  const scale = scaleOf(groups.map(({ rank_percentile }) => rank_percentile))
  if (kind === undefined) return null
  return (
    <Panel title="By group">
      <label class="field">
        Group{' '}
        <select value={kind} onChange={(event) => setChosen(event.currentTarget.value)}>
          {kinds.map((name) => (
            <option key={name} value={name}>
              {words(name)}
            </option>
          ))}
        </select>
      </label>
      <Wide label={`By ${words(kind)}`}>
        <table>
          <caption class="sr-only">Figures of the model by {words(kind)}</caption>
          <thead>
            <tr>
              <th scope="col">{words(kind)}</th>
              <th scope="col">Ranked below a saved post</th>
              <th scope="col" class="number">
                Precision
              </th>
              <th scope="col" class="number">
                Recall
              </th>
              <th scope="col" class="number">
                Saved
              </th>
              <th scope="col" class="number">
                Picked and saved
              </th>
              <th scope="col" class="number">
                Posts
              </th>
            </tr>
          </thead>
          <tbody>
            {groups.map((group) => (
              <tr key={group.value ?? ''}>
                <th scope="row">{group.value ?? 'unknown'}</th>
                <IntervalCell {...group.rank_percentile} scale={scale} />
                <td class="number">{percent(group.precision, 0)}</td>
                <td class="number">{percent(group.recall, 0)}</td>
                <td class="number">{integer(group.saved)}</td>
                <td class="number">{integer(group.picked_saved)}</td>
                <td class="number">{integer(group.visits)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </Panel>
  )
}

function FirstScores({ report: { first_score } }: { readonly report: ReportData }) {
  const { share, target, on_time, late, never, excluded, reasons, worst } = first_score
  return (
    <Panel title="First scores">
      <Facts
        isLong
        facts={[
          ['In time', `${percent(share)} (target ${percent(target, 0)})`],
          [
            'Counts',
            `${integer(on_time)} in time, ${integer(late)} late, ${integer(never)} never, ${integer(excluded)} not counted`,
          ],
          ...Object.entries(reasons).map(([reason, count]) => [words(reason), integer(count)] as const),
        ]}
      />
      {worst.length === 0 ? (
        <p class="empty">Every post had its first score in time.</p>
      ) : (
        <Wide label="Latest first scores">
          <table>
            <caption>The posts whose first score came latest</caption>
            <thead>
              <tr>
                <th scope="col">Post</th>
                <th scope="col">Result</th>
                <th scope="col">Reason</th>
                <th scope="col">Extracted</th>
                <th scope="col">First score</th>
                <th scope="col" class="number">
                  Late by
                </th>
              </tr>
            </thead>
            <tbody>
              {worst.map((offender, i) => (
                <OffenderRow key={i} offender={offender} />
              ))}
            </tbody>
          </table>
        </Wide>
      )}
    </Panel>
  )
}

function OffenderRow({ offender }: { readonly offender: Offender }) {
  const { gall_id, post_no, result, reason, extracted_at, first_scored_at, minutes_late } = offender
  return (
    <tr>
      <th scope="row">
        {gall_id === null || post_no === null ? (
          '–'
        ) : (
          <a href={postAddress(gall_id, post_no)}>
            {gall_id} · {post_no}
          </a>
        )}
      </th>
      <td>
        <Badge tone={result === 'never' ? 'fail' : 'warn'}>{result}</Badge>
      </td>
      <td>{words(reason)}</td>
      <td>{dayClock(extracted_at)}</td>
      <td>{dayClock(first_scored_at)}</td>
      <td class="number">{minutes(minutes_late)}</td>
    </tr>
  )
}

/** A table that scrolls sideways on a narrow screen. */
function Wide({ label, children }: { readonly label: string; readonly children: ComponentChildren }) {
  return (
    <div class="wide-scroll" role="region" aria-label={`${label}, table`} tabIndex={0}>
      {children}
    </div>
  )
}

function minutes(value: number | null): string {
  return value === null ? '–' : duration(value * 60_000)
}
