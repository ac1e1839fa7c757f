/**
 * Pages without a script: the login form, and the frame and the style of the API documentation. Every value in the `html`
 * template is escaped, unless it is HTML of that template itself.
 */
import type { Reply, Route } from './routes.js'

export class Html {
  constructor(readonly text: string) {}
}

export function html(
  parts: TemplateStringsArray,
  ...values: readonly (Html | readonly Html[] | string)[]
): Html {
  const texts = values.map((value) => {
    if (typeof value === 'string') return escapeHtml(value)
    return value instanceof Html ? value.text : value.map(({ text }) => text).join('')
  })
  return new Html(String.raw({ raw: parts }, ...texts))
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

export function plainPage(title: string, body: Html, status = 200): Reply {
  const { text } = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/plain.css" />
      </head>
      <body>
        ${body}
      </body>
    </html> `
  return { status, headers: { 'Content-Type': 'text/html; charset=utf-8' }, body: Buffer.from(text) }
}

export function table(head: readonly string[], rows: readonly (readonly Html[])[]): Html {
  return html`<table>
    <thead>
      <tr>
        ${head.map((cell) => html`<th scope="col">${cell}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        (row) =>
          html`<tr>
            ${row.map((cell) => html`<td>${cell}</td>`)}
          </tr>`,
      )}
    </tbody>
  </table>`
}

/** Paragraphs, tables, code and bold text: what the texts of the OpenAPI document use. */
export function markdown(text = ''): Html {
  const blocks = text.split(/\n{2,}/).filter((block) => block !== '')
  return html`${blocks.map((block) => {
    if (!block.startsWith('|')) return html`<p>${inline(block)}</p>`
    const [head = [], , ...rows] = block.split('\n').map((line) => line.split('|').slice(1, -1))
    return table(
      head.map((cell) => cell.trim()),
      rows.map((row) => row.map((cell) => inline(cell.trim()))),
    )
  })}`
}

/** Code and bold text. */
export function inline(text = ''): Html {
  const marked = escapeHtml(text)
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')
  return new Html(marked)
}

/** The form that asks for the token. `problem`: of the last attempt. */
export function loginPage(problem: string | null): Reply {
  const body = html`<main class="login">
    <h1>Understudy</h1>
    ${problem === null ? '' : html`<p role="alert">${problem}</p>`}
    <form method="post" action="/login">
      <input name="username" autocomplete="username" value="operator" hidden />
      <label for="token">Admin token</label>
      <input id="token" name="token" type="password" autocomplete="current-password" required autofocus />
      <button>Sign in</button>
    </form>
    <p class="muted">
      The service prints an address with the token at startup. The token is also in the file
      <code>admin-token</code> of the data directory, unless <code>UNDERSTUDY_ADMIN_TOKEN</code> sets it.
    </p>
  </main>`
  const { headers, ...reply } = plainPage('Sign in – Understudy', body, 401)
  // With `no-referrer` a browser would not name the origin of the form.
  return { ...reply, headers: { ...headers, 'Referrer-Policy': 'same-origin' } }
}

export const plainStyle: Route = {
  path: '/plain.css',
  access: 'open',
  handle: () => ({ status: 200, headers: { 'Content-Type': 'text/css; charset=utf-8' }, body: style }),
}

const style = Buffer.from(`:root {
  color-scheme: light dark;
  --page: light-dark(#f5f6f8, #0c0e12);
  --panel: light-dark(#ffffff, #13161c);
  --line: light-dark(#e1e4ea, #252b36);
  --text: light-dark(#171b22, #e6e9ef);
  --muted: light-dark(#586070, #98a2b3);
  --accent: light-dark(#2b5bd7, #86a9ff);
  --fail: light-dark(#b3261e, #ff8a80);
  font: 14px/1.55 system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans KR', sans-serif;
}
*, *::before, *::after { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); overflow-wrap: anywhere; }
a { color: var(--accent); }
a:focus-visible, summary:focus-visible, button:focus-visible, input:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
h1 { margin: 0 0 8px; font-size: 24px; }
h2 { margin: 40px 0 8px; font-size: 19px; }
h3 { margin: 0 0 4px; font-size: 15px; }
h4 { margin: 16px 0 4px; font-size: 12px; color: var(--muted); text-transform: uppercase; letter-spacing: 0.04em; }
p { margin: 0 0 8px; max-width: 75ch; }
code, pre { font: 12.5px/1.5 ui-monospace, 'SF Mono', Menlo, Consolas, monospace; }
pre { margin: 8px 0 0; padding: 12px; background: var(--page); border-radius: 6px; white-space: pre-wrap; }
table { width: 100%; margin: 0 0 12px; border-collapse: collapse; }
th, td { padding: 6px 12px 6px 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; overflow-wrap: break-word; }
th { color: var(--muted); font-weight: 500; white-space: nowrap; }
details { margin-bottom: 8px; }
summary { color: var(--accent); cursor: pointer; }
.muted { color: var(--muted); }
.docs { display: grid; grid-template-columns: 240px minmax(0, 60rem); gap: 40px; max-width: 1300px; margin: 0 auto; padding: 24px; }
.docs nav { position: sticky; top: 24px; align-self: start; max-height: calc(100vh - 48px); overflow-y: auto; font-size: 13px; }
.docs nav ul { margin: 0 0 16px; padding: 0; list-style: none; }
.docs nav a { display: block; padding: 3px 0; color: inherit; text-decoration: none; }
.docs nav a:hover { color: var(--accent); }
.panel { margin: 0 0 16px; padding: 16px; background: var(--panel); border: 1px solid var(--line); border-radius: 8px; scroll-margin-top: 16px; }
.method { color: var(--accent); }
.login { max-width: 26rem; margin: 15vh auto 0; padding: 24px; }
.login form { display: grid; gap: 8px; margin: 16px 0; }
.login input, .login button { padding: 8px 12px; font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--muted); border-radius: 6px; }
.login button { background: var(--accent); border-color: transparent; color: var(--panel); cursor: pointer; }
[role='alert'] { color: var(--fail); }
@media (max-width: 800px) {
  .docs { grid-template-columns: minmax(0, 1fr); padding: 16px; }
  .docs nav { position: static; max-height: none; }
  .docs tr { display: block; padding: 6px 0; border-bottom: 1px solid var(--line); }
  .docs td, .docs th { display: block; padding: 0; border: 0; overflow-wrap: anywhere; }
  .docs thead { display: none; }
}
`)
