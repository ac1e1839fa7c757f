/** Small JPEGs. */
import sharp from 'sharp'

/** A JPEG of 64 by 48 pixels; each grey value has different bytes. */
export function smallJpeg(grey: number): Promise<Buffer> {
  return sharp({ create: { width: 64, height: 48, channels: 3, background: { r: grey, g: grey, b: 9 } } })
    .jpeg()
    .toBuffer()
}
