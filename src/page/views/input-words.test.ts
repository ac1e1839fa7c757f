/** The inputs of models in words: each form of a name, and its value in its own unit instead of the logarithm. */
import { afterEach, expect, test } from 'vitest'
import { setLanguage } from '../messages/index.js'
import { inputWords } from './input-words.js'

afterEach(() => setLanguage('en'))

const log = (value: number): number => Math.sign(value) * Math.log1p(Math.abs(value))

test.each([
  ['views', 1234, 'views', '1,234'],
  ['views_log', log(12_345), 'views', '12.3K'],
  ['log1p(views)', log(40), 'views', '40'],
  ['comment_cnt_missing', 1, 'comments unknown', 'yes'],
  ['up_gain_log', log(-7), 'recommendations since the reading before', '−7'],
  ['views_per_hour', log(250), 'views per hour now', '250/h'],
  ['down_per_hour_of_life', log(1.5), 'down-votes per hour since it was written', '1.5/h'],
  ['views_momentum', Math.log(2), 'views: pace now, against its average', '×2.00'],
  ['up_per_view', 0.034, 'recommendations per view', '3.4%'],
  ['rtb_per_up', 0.25, 'Send-to-Best votes per recommendation', '0.25'],
  ['created_age_log', log(3.5), 'age', '3 h 30 min'],
  ['extracted_age_days', 0.5, 'time in the queue', '12 h'],
  ['previous_minutes_log', log(5), 'time since the reading before', '5 min'],
  ['cycle_hour_sin', 0.5, 'time of day (sine)', '0.500'],
  ['title_chars_log', log(21), 'title: characters', '21'],
  ['body_jamo_share', 0.125, 'text: share of single jamo', '12.5%'],
  ['source_vote', 0, 'found by votes', 'no'],
  ['images_stored_share', 1, 'share of the images that arrived', '100.0%'],
  ['snapshot_hit_cnt_m_log', log(90), 'admin snapshot: views over the baseline on mobile', '90'],
  ['snapshot_hit_cnt_total_log', log(90), 'admin snapshot: views over the baseline, all devices', '90'],
  [
    'snapshot_recommend_up_cnt_app_share',
    0.5,
    'admin snapshot: app share of recommendations over the baseline',
    '50.0%',
  ],
])('%s, %d', (name, value, label, written) => {
  const words = inputWords(name)
  expect([words.label, words.value(value)]).toEqual([label, written])
})

test('a name that no rule knows stays, with its number', () => {
  expect(inputWords('my_feature')).toMatchObject({ label: 'my_feature' })
  expect([inputWords('my_feature').value(0.25), inputWords('title_of_feature').label]).toEqual([
    ...['0.250', 'title_of_feature'],
  ])
})

test('in Korean', () => {
  setLanguage('ko')
  const words = inputWords('views_per_hour')
  expect([words.label, words.value(log(250))]).toEqual(['지금 시간당 조회', '250/시간'])
})
