/** A line without axes: how a score developed. The newest value is next to it as text. */

const width = 72
const height = 22
const spanMin = 0.1

export function Sparkline({ values }: { readonly values: readonly (number | null)[] }) {
  const known = values.filter((value) => value !== null)
  if (known.length < 2) return <svg class="sparkline" viewBox={`0 0 ${width} ${height}`} aria-hidden="true" />
  const [low, high] = [Math.min(...known), Math.max(...known)]
  // Small movements look small.
  const span = Math.max(high - low, spanMin)
  const min = (low + high - span) / 2
  const x = (i: number): number => 2 + (i / (values.length - 1)) * (width - 4)
  const y = (value: number): number => height - 3 - ((value - min) / span) * (height - 6)
  let path = ''
  values.forEach((value, i) => {
    if (value === null) return
    const isStart = i === 0 || values[i - 1] === null
    path += `${isStart ? 'M' : 'L'}${x(i).toFixed(1)} ${y(value).toFixed(1)}`
  })
  const last = values.at(-1) ?? null
  return (
    <svg class="sparkline" viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      <path d={path} />
      {last !== null && <circle cx={x(values.length - 1)} cy={y(last)} r="1.8" />}
    </svg>
  )
}
