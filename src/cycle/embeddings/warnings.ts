/**
 * Warnings of a response about texts and images that the model did not get, and about its kind.
 */
import type { Model } from '../../model/index.js'
import { PostWarning, type CyclePlan } from '../../pool/index.js'
import type { EmbeddingInputs } from './embeddings.js'

/** For the posts that are scored. The inputs are by slot. */
export function missingInputWarnings(
  { text, image }: Model,
  { scoring, next }: CyclePlan,
  { textEncoded, textUnencodable, imagesEncoded }: EmbeddingInputs,
): string[] {
  const lateText = new PostWarning('text not encoded in time, scored without it')
  const badText = new PostWarning('text that the encoder cannot encode, scored without it')
  const withoutImages = new PostWarning('expected images not all encoded, scored without them')
  const { imagesExpected, imagesInPost } = next.posts
  for (let row = 0; row < scoring.count; row++) {
    const slot = scoring.slots[row] as number
    const name = (): [string, number] => [
      next.galleries[next.gallery[slot] as number] as string,
      next.postNo[slot] as number,
    ]
    if (text !== null && textEncoded[slot] === 0)
      (textUnencodable[slot] === 1 ? badText : lateText).add(...name())
    if (image?.required !== true) continue
    const expected = imagesExpected[slot] as number
    const due = Number.isNaN(expected) ? (imagesInPost[slot] as number) : expected
    if ((imagesEncoded[slot] as number) < due) withoutImages.add(...name())
  }
  return [...lateText.lines(), ...badText.lines(), ...withoutImages.lines()]
}

/** Every response of a transport test carries this warning. */
export function modelKindWarnings({ kind, version }: Model): string[] {
  return kind === 'trained'
    ? []
    : [`transport test: ${version} is not a trained model; its scores have no meaning`]
}
