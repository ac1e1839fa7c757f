/** Icons, drawn with lines of the colour of the text. They carry no meaning that is not also in words. */

const paths = {
  now: 'M2 9h3l2-5 3 9 2-4h2',
  picks: 'M3 4h10M3 8h7M3 12h4',
  posts: 'M4 2h6l3 3v9H4zM6.5 7h4M6.5 10h4',
  report: 'M3 13V8m5 5V3m5 10V6',
  models: 'M8 2l5.5 3v6L8 14l-5.5-3V5zM2.5 5L8 8l5.5-3M8 8v6',
  cycles: 'M13 8a5 5 0 1 1-1.6-3.7M13 2v3h-3',
  sun: 'M8 5.2A2.8 2.8 0 1 1 8 10.8A2.8 2.8 0 1 1 8 5.2M8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9',
  moon: 'M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z',
  half: 'M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11',
  copy: 'M5.5 5.5h7v7h-7zM10.5 5.5v-2h-7v7h2',
  download: 'M8 2.5v7.5M5 7l3 3 3-3M3 13h10',
  close: 'M4 4l8 8M12 4l-8 8',
} as const

export type IconName = keyof typeof paths

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  )
}
