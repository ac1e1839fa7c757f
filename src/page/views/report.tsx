/** Report: how the model ranks what the operators pick, compared with other versions and simple orders. */
import { useState } from 'preact/hooks'
import type { Report as ReportData } from '../../contract/index.js'
import { counted, duration } from '../format.js'
import { t } from '../messages/index.js'
import type { StoredPage } from '../service/api.js'
import { serverNowMs, useNowMs } from '../service/clock.js'
import { useQuery } from '../service/query.js'
import { Missing } from '../parts/common.js'
import { ReportFigures, windowText } from './report-figures.js'

export function Report() {
  const { data, error } = useQuery<ReportData>('/api/report', { refreshOn: ['cycle'] })
  return (
    <div class="view">
      <div class="list-head">
        <h1>{t.frame.report}</h1>
        {data !== null && <p class="muted list-note">{windowText(data)}</p>}
      </div>
      {data !== null && <ReportFigures report={data} />}
      {data === null && (error === null ? <Progress /> : <Missing error={error} what={t.data.report} />)}
    </div>
  )
}

/** How much the service has to read, and for how long it has been reading. */
function Progress() {
  const { data } = useQuery<StoredPage>('/api/cycles?list=stored&limit=1')
  const [startMs] = useState(serverNowMs)
  const spanMs = Math.max(0, useNowMs() - startMs)
  const count = data === null ? null : data.newest - data.oldest + 1
  if (count === 0) return <p class="empty">{t.report.empty}</p>
  const cycles = count === null ? null : counted(count, t.units.cycles)
  return (
    <p class="empty">
      <progress aria-label={t.parts.loading(t.data.report)} />{' '}
      {cycles === null ? t.parts.loading(t.data.report) : t.report.reading(cycles, duration(spanMs))}
    </p>
  )
}
