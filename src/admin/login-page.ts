/** The form that asks for the token: a page without a script, with a style sheet that needs no token. */
import type { Reply, Route } from './routes.js'

/** `problem`: of the last attempt. */
export function loginPage(problem: string | null): Reply {
  const alert = problem === null ? '' : `<p role="alert">${escapeHtml(problem)}</p>`
  const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Sign in – Understudy</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="/login.css" />
  </head>
  <body>
    <main>
      <h1>Understudy</h1>
      ${alert}
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
    </main>
  </body>
</html>
`
  return {
    status: 401,
    // With `no-referrer` a browser would not name the origin of the form.
    headers: { 'Content-Type': 'text/html; charset=utf-8', 'Referrer-Policy': 'same-origin' },
    body: Buffer.from(page),
  }
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

export const loginStyle: Route = {
  path: '/login.css',
  access: 'open',
  handle: () => ({ status: 200, headers: { 'Content-Type': 'text/css; charset=utf-8' }, body: style }),
}

const style = Buffer.from(`:root {
  color-scheme: light dark;
  --page: light-dark(#f5f6f8, #0c0e12);
  --panel: light-dark(#ffffff, #13161c);
  --text: light-dark(#171b22, #e6e9ef);
  --muted: light-dark(#586070, #98a2b3);
  --accent: light-dark(#2b5bd7, #86a9ff);
  --fail: light-dark(#b3261e, #ff8a80);
  font: 14px/1.55 system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans KR', sans-serif;
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); overflow-wrap: anywhere; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
h1 { margin: 0 0 8px; font-size: 24px; }
p { margin: 0 0 8px; }
code { font: 12.5px/1.5 ui-monospace, 'SF Mono', Menlo, Consolas, monospace; }
main { max-width: 26rem; margin: 15vh auto 0; padding: 24px; }
form { display: grid; gap: 8px; margin: 16px 0; }
input, button { padding: 8px 12px; font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--muted); border-radius: 6px; }
button { background: var(--accent); border-color: transparent; color: var(--panel); cursor: pointer; }
.muted { color: var(--muted); }
[role='alert'] { color: var(--fail); }
`)
