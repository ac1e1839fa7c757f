/** What the service reports as codes, in Korean. The contract has the English sentences. */
import type { healthSentences } from '../../contract/health.js'
import type { refusalSentences } from '../../contract/refusals.js'
import type { warningSentences } from '../../contract/warnings.js'

export const warningKinds: typeof warningSentences = {
  candidate_changed: '다시 보낸 글의 내용이 달라 처음 것을 유지',
  removal_not_pending: '대기 중이 아닌 글의 제외 요청',
  duplicate_engagement: '같은 글의 반응 수치가 여럿이라 최신 것만 사용',
  duplicate_candidate_scores: '같은 글의 관리자 스냅숏이 여럿이라 최신 것만 사용',
  engagement_of_removed_post: '제외한 글의 반응 수치는 사용 안 함',
  text_not_encoded: '본문을 제때 인코딩하지 못해 본문 없이 채점',
  text_not_encodable: '인코딩할 수 없는 본문이라 본문 없이 채점',
  images_not_encoded: '올 이미지를 모두 인코딩하지 못해 이미지 없이 채점',
  unknown_field: '알 수 없는 필드',
  late_cycle: '늦게 도착한 cycle',
  transport_test: '전송 시험용 모델',
}

export const health: typeof healthSentences = {
  accepts_requests: () => '요청을 받고 있습니다',
  shutting_down: () => '서비스를 종료하고 있습니다',
  standby: () => '이 프로세스는 대기(standby) 상태입니다',
  model_serves: () => '모델이 채점하고 있습니다',
  no_model: () => '불러온 모델이 없습니다',
  model_fails: ({ cycles }) =>
    cycles === 1
      ? '모델이 최근 cycle을 채점하지 못했습니다'
      : `모델이 최근 cycle ${cycles}개를 채점하지 못했습니다`,
  model_replaced: ({ version, failed }) =>
    `ACTIVE를 바꿀 때까지 ${version} 버전이 ${failed} 버전을 대신합니다`,
  model_stands_in: ({ version, failed }) =>
    `${failed} 버전을 불러올 수 있을 때까지 ${version} 버전이 대신합니다`,
  active_unreadable: () => '사용할 버전을 알 수 없습니다',
  version_not_loaded: ({ version }) => `${version} 버전을 불러오지 못했습니다`,
  storage_writable: () => '저장할 수 있습니다',
  storage_refuses: () => '저장소가 쓰기를 거부합니다',
  journal_fails: () => '저널을 쓸 수 없습니다',
  no_synchronous_standby: () =>
    'PostgreSQL에 동기 대기 서버가 없어, 디스크가 고장 나면 응답한 cycle을 잃습니다',
  journal_state: ({ role, epoch, entry }) => `역할은 ${role}, epoch는 ${epoch}, entry는 ${entry}입니다`,
  no_cycle: () => '받은 cycle이 없습니다',
  last_cycle: ({ cycle_id, age_s }) => `cycle ${cycle_id}: ${age_s}초 전에 도착했습니다`,
  clocks_differ: ({ cycles, cycle_id, ahead_s }) =>
    `최근 1시간에 cycle ${cycles}개가 cycle_time이 미래여서 거부되었습니다(마지막 ${cycle_id}, ${ahead_s}초 앞섬). ` +
    '클라이언트와 서비스의 시계를 확인하세요',
  disk_silent: () => '데이터 디렉터리의 디스크가 응답하지 않습니다',
  disk_free: ({ free_mib }) => `데이터 디렉터리의 디스크 여유 공간이 ${free_mib}MiB입니다`,
}

/** `unlisted`: problems of fields that the response does not list. */
const withFields =
  (sentence: string) =>
  ({ unlisted }: { readonly unlisted: number }): string =>
    unlisted === 0 ? sentence : `${sentence}(목록에 없는 문제 ${unlisted}건 더 있음)`

export const refusals: typeof refusalSentences = {
  ambiguous_end: () => 'Content-Length나 Transfer-Encoding: chunked 중 하나만 보내야 합니다',
  disconnected: () => '클라이언트가 연결을 끊었습니다',
  body_timeout: () => '요청 본문을 받다가 시간이 초과되었습니다',
  not_gzip: () => '본문이 올바른 gzip이 아닙니다',
  not_utf8: ({ byte }) => `본문이 올바른 UTF-8이 아닙니다(바이트 위치 ${byte})`,
  not_json: ({ byte }) => `본문이 올바른 JSON이 아닙니다(바이트 위치 ${byte})`,
  json_ends_early: ({ byte }) => `본문이 중간에 끊겼습니다(바이트 위치 ${byte})`,
  json_too_deep: ({ levels_max, byte }) => `본문의 중첩이 ${levels_max}단계를 넘습니다(바이트 위치 ${byte})`,
  too_many_containers: ({ containers_max, byte }) =>
    `본문의 배열과 객체가 ${containers_max}개를 넘습니다(바이트 위치 ${byte})`,
  invalid_cycle: withFields('본문이 올바른 cycle이 아닙니다'),
  invalid_outcomes: withFields('본문이 올바른 outcome 목록이 아닙니다'),
  invalid_weights: withFields('본문이 올바른 가중치 설정이 아닙니다'),
  invalid_image_path: withFields('이미지 주소나 해시가 올바르지 않습니다'),
  image_hash_differs: withFields('헤더의 해시가 이미지의 해시와 다릅니다'),
  empty_image: () => '이미지가 비어 있습니다',
  undecodable_image: ({ problem }) => `이미지를 디코딩할 수 없습니다(${problem})`,
  too_many_segments: ({ segments_max }) => `이미지의 세그먼트가 ${segments_max}개를 넘습니다`,
  unreadable_form: () => '입력한 내용을 읽을 수 없습니다',
  unknown_list: () => 'list는 calls, other, stored 중 하나여야 합니다',
  out_of_range: ({ name, min, max }) => `${name} 값은 ${min}에서 ${max} 사이의 정수여야 합니다`,
  no_cycle_id: ({ name }) => `${name} 값은 cycle_id여야 합니다`,

  unknown_key: () => 'API 키가 없거나 잘못되었습니다. Authorization 헤더에 키만 보내야 합니다',
  wrong_token: () => '관리자 토큰이 아닙니다',
  signed_out: () => '로그인이 만료되었습니다. 서비스가 시작할 때 출력한, 토큰이 든 주소로 다시 접속하세요',

  unknown_path: () => '없는 주소입니다',
  invalid_cycle_id: () => '없는 cycle입니다',
  unknown_cycle: ({ cycle_id }) => `없는 cycle입니다: ${cycle_id}`,
  not_pending: () => '대기 중인 글이 아닙니다',
  no_package: () => '그런 모델 패키지가 없습니다',
  no_other_version: () => '비교할 다른 버전이 없습니다',
  no_image: () => '그런 이미지가 없습니다',
  not_stored: () => '저장된 cycle 중에 없습니다',
  no_cycles: () => '저장된 cycle이 없습니다',
  not_in_empty: ({ cycle_id }) => `저장되지 않은 cycle입니다: ${cycle_id}(저장된 cycle이 없음)`,
  not_in_directory: ({ cycle_id, first, last }) =>
    `저장되지 않은 cycle입니다: ${cycle_id}(처음 ${first}, 마지막 ${last})`,
  never_candidate: ({ post }) => `저장된 cycle 중에 이 글(${post})이 들어온 것이 없습니다`,
  no_score: ({ cycle_id, post, why }) =>
    `cycle ${cycle_id}에 이 글(${post})의 점수가 없어 이유를 보여 줄 수 없습니다(${why ?? '대기 중이 아니었음'})`,

  wrong_method: ({ allow }) => `허용되지 않는 메서드입니다(허용: ${allow})`,

  other_image: () => '같은 키의 이미지가 다른 내용으로 이미 있습니다',
  other_body: ({ cycle_id }) => `다른 본문으로 이미 저장된 cycle입니다: ${cycle_id}`,
  expired_cycle: ({ cycle_id }) => `이미 채점했고 보관 기간이 지난 cycle입니다: ${cycle_id}`,
  other_weights: () => '같은 버전이 다른 가중치로 이미 있습니다',

  large_body: ({ bytes_max }) => `본문이 ${bytes_max}바이트보다 큽니다`,
  large_decompressed_body: ({ bytes_max }) => `압축을 푼 본문이 ${bytes_max}바이트보다 큽니다`,
  large_image: ({ width, height, megapixels_max }) =>
    `이미지 크기(${width} x ${height})가 ${megapixels_max}메가픽셀을 넘습니다`,

  json_type_expected: () => 'Content-Type은 application/json이어야 합니다',
  jpeg_type_expected: () => 'Content-Type은 image/jpeg여야 합니다',
  unknown_encoding: () => 'Content-Encoding은 gzip이나 identity여야 합니다',
  encoded_image: () => '이미지에는 Content-Encoding을 쓸 수 없습니다',
  not_jpeg: () => '본문이 JPEG가 아닙니다',

  wrong_times: withFields('cycle의 시각이 올바르지 않습니다'),
  too_many_pending: withFields('대기 중인 글이 너무 많아집니다'),
  unusable_weights: () => '쓸 수 없는 가중치입니다',
  too_many_weights: ({ settings_max }) => `가중치를 이미 ${settings_max}번 설정하여 더 저장할 수 없습니다`,

  internal: () => '서비스 내부 오류입니다. 자세한 내용은 서비스 로그에 있습니다',
  files_differ: ({ version }) =>
    `${version} 패키지의 파일이 서버가 불러온 ${version} 버전과 다릅니다. 새 패키지의 버전 이름을 바꾸세요`,
  history_failed: ({ problem }) => `요청한 작업에 실패했습니다(${problem})`,

  shutting_down: health.shutting_down,
  standby: () => '이 프로세스는 대기(standby) 상태입니다. 요청을 다시 보내야 합니다',
  no_model: health.no_model,
  model_failed: () => '모델이 채점에 실패했습니다',
  storage_refuses: health.storage_refuses,
  storage_failed: () => '저장소 오류입니다',
  storage_unreadable: () => '저장소를 읽을 수 없습니다',
  body_failed: () => '본문을 처리하지 못했습니다',
  image_timeout: () => '이미지 디코딩 시간이 초과되었습니다',
  too_many_bytes: () => '메모리에 있는 본문이 너무 많습니다',
  too_many_cycles: () => '대기 중인 cycle이 너무 많습니다',
  too_many_images: () => '검사를 기다리는 이미지가 너무 많습니다',
  too_many_streams: () => '열려 있는 화면이 너무 많습니다',
  too_many_requests: () => '저장된 cycle을 읽는 요청이 너무 많습니다',
  too_many_reports: () => '처리 중인 보고서가 너무 많습니다. 잠시 뒤 다시 시도하세요',
  abandoned: () => '결과를 기다리는 화면이 없어 중단했습니다',
  stopping: health.shutting_down,
}
