/**
 * `npm run test:soak`: a soak of simulated days (run-soak.ts), or with the argument `year` one of 400 days (run-year.ts).
 */
await (process.argv[2] === 'year' ? import('./run-year.js') : import('./run-soak.js'))
