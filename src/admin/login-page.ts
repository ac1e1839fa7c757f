/** The form that asks for the token: a page without a script, with a style sheet that needs no token. */
import type { Reply, Route } from './routes.js'

interface Texts {
  readonly title: string
  readonly token: string
  readonly button: string
  readonly wrong: string
  /** The names stand in `<code>`. */
  readonly where: string
}

const texts = {
  en: {
    title: 'Sign in',
    token: 'Admin token',
    button: 'Sign in',
    wrong: 'This is not the admin token.',
    where:
      'The service prints an address with the token at startup. The token is also in the file <code>admin-token</code> ' +
      'of the data directory, unless <code>UNDERSTUDY_ADMIN_TOKEN</code> sets it.',
  },
  ko: {
    title: '로그인',
    token: '관리자 토큰',
    button: '로그인',
    wrong: '관리자 토큰이 아닙니다.',
    where:
      '서비스가 시작할 때 토큰이 든 주소를 출력합니다. <code>UNDERSTUDY_ADMIN_TOKEN</code>을 따로 지정하지 않았다면 ' +
      '데이터 디렉터리의 <code>admin-token</code> 파일에도 있습니다.',
  },
} satisfies Record<string, Texts>
type Language = keyof typeof texts

/** `isRetry`: the last attempt failed. `acceptLanguage`: the header; browsers list what the reader prefers first. */
export function loginPage(isRetry: boolean, acceptLanguage: string): Reply {
  const language = /\b(en|ko)\b/i.exec(acceptLanguage)?.[1]?.toLowerCase() === 'ko' ? 'ko' : 'en'
  const { title, token, button, wrong, where } = texts[language satisfies Language]
  const page = `<!doctype html>
<html lang="${language}">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${title} – Understudy</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="/login.css" />
  </head>
  <body>
    <main>
      <h1>Understudy</h1>
      ${isRetry ? `<p role="alert">${wrong}</p>` : ''}
      <form method="post" action="/login">
        <input name="username" autocomplete="username" value="operator" hidden />
        <label for="token">${token}</label>
        <input id="token" name="token" type="password" autocomplete="current-password" required autofocus />
        <button>${button}</button>
      </form>
      <p class="muted">${where}</p>
    </main>
  </body>
</html>
`
  return {
    status: 401,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      // With `no-referrer` a browser would not name the origin of the form.
      'Referrer-Policy': 'same-origin',
      Vary: 'Accept-Language',
    },
    body: Buffer.from(page),
  }
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
:lang(ko) { word-break: keep-all; }
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
