/** What the service reports as codes, in Korean. The contract has the English sentences. */
import type { Messages } from './en.js'

export const warningKinds: Messages['warningKinds'] = {
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
