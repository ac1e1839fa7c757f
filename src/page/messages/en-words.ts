/** Identifiers of the API in English words: results, reasons, outcomes, counters, checks, stages. */
export const words = {
  // Results of posts, their reasons, and what keeps a first score waiting.
  scored: 'scored',
  waiting: 'waiting',
  not_scored: 'not scored',
  missing_title: 'missing title',
  missing_clock: 'missing clock',
  post_unavailable: 'post unavailable',
  unknown_post: 'unknown post',
  no_cycle: 'no cycle',
  other: 'other reason',

  // How a stay in the pool ends.
  open: 'pending',
  saved: 'saved',
  hidden: 'hidden',
  deleted: 'deleted',
  aged_out: 'aged out',
  unknown: 'unknown',

  // First scores.
  on_time: 'on time',
  late: 'late',
  never: 'never',
  excluded: 'not counted',

  // Results of calls.
  repeated: 'repeated',
  done: 'done',
  refused: 'refused',
  failed: 'failed',
  aborted: 'aborted',

  // Counters, and what the client sends.
  views: 'views',
  up: 'recommendations',
  down: 'down-votes',
  comment_cnt: 'comments',
  rtb_vote: 'Send-to-Best votes',
  candidates: 'candidates',
  engagement: 'engagement',
  candidate_scores: 'candidate scores',
  removals: 'removals',
  scored_now: 'scored now',
  results: 'results',

  // Weights; those of `views` and `up` have the names of counters.
  comments: 'comments',
  downvote_share: 'down-vote share',

  // Where a candidate comes from.
  score: 'score',
  setting: 'setting',
  keyword: 'keyword',
  vote: 'vote',
  manual: 'by hand',
  main: 'main',
  minor: 'minor',
  mini: 'mini',

  // Who placed a post.
  operator: 'operator',
  model: 'model',

  // Health checks.
  service: 'service',
  storage: 'storage',
  last_cycle: 'last cycle',
  next_cycle: 'next cycle',
  clock: 'clock',
  disk: 'disk',
  ok: 'ok',
  warn: 'warning',
  fail: 'failed',
  pass: 'passed',
  skip: 'skipped',

  // Stages of a cycle.
  receive: 'receive',
  decode: 'decode',
  wait: 'wait',
  plan: 'plan',
  features: 'features',
  infer: 'infer',
  encode: 'encode',
  commit: 'commit',
  send: 'send',

  // States and kinds of models.
  serving: 'serving',
  shadow: 'shadow',
  loading: 'loading',
  wanted: 'wanted',
  trained: 'trained',
  text: 'text',
  images: 'images',
  trained_on: 'trained on',
  note: 'note',

  // Verdicts.
  better: 'better',
  worse: 'worse',
  'cannot be told apart': 'cannot be told apart',
}
