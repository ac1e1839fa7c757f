"""The digest of the pending posts, as `understudy pool --digest` prints it."""
import hashlib


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def pool_digest(pending):
    """pending: (gall_id, post_no) of each pending post, in any order."""
    return sha256("".join(sorted(sha256(f"{gall_id}/{post_no}") for gall_id, post_no in pending)))
