/** Report: how the model ranks what the operators pick, compared with other versions and simple orders. */
import type { Report as ReportData } from '../../contract/index.js'
import { useQuery } from '../service/query.js'
import { t } from '../messages/index.js'
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
      {data === null ? <Missing error={error} what={t.data.reportLong} /> : <ReportFigures report={data} />}
    </div>
  )
}
