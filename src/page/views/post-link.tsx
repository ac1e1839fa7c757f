/** A post in a table: its title as a link, and its key. */
import { t } from '../messages/index.js'
import { Text } from '../parts/common.js'
import { postAddress } from '../router.js'

interface Found {
  readonly gall_id: string
  readonly post_no: number
  readonly title: string | null
}

export function PostLink({ post: { gall_id, post_no, title } }: { readonly post: Found }) {
  return (
    <>
      <a class="clip" href={postAddress(gall_id, post_no)}>
        {title === null || title === '' ? t.parts.withoutTitle : <Text isKorean>{title}</Text>}
      </a>
      <small class="muted clip">
        <Text>{gall_id}</Text> · {post_no}
      </small>
    </>
  )
}
