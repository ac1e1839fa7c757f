/**
 * How the batches of a role are laid out in frames, on both sides.
 */
import type { Frame, Message } from './frames.js'

/** The owner's side. */
export interface OwnerFormat<Request, Reply> {
  encodeRequest(request: Request): Message
  /** The values may be views of the frame's payload. */
  decodeReply(frame: Frame): Reply
}

/** The child's side; its requests are views of memory that the next batch overwrites. */
export interface ChildFormat<Request, Reply> {
  decodeRequest(frame: Frame): Request
  encodeReply(reply: Reply): Message
}
