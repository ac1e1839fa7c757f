/**
 * Preprocesses a JPEG as in the training of the encoder: resized, cropped, channels in order, values scaled and
 * normalised. sharp decodes and resizes on its threads; the rest is one pass over the pixels.
 */
import sharp, { type Sharp } from 'sharp'
import { pixelSize } from '../graph-ports/image-ports.js'
import type { ImageSettings } from '../package/settings.js'

export type PreprocessOptions = Pick<
  ImageSettings,
  'resize' | 'crop' | 'interpolation' | 'channels' | 'layout' | 'scale' | 'mean' | 'std'
>

interface Size {
  readonly width: number
  readonly height: number
}

const channelCount = 3
const byteCount = 256

// Images are encoded in the background while cycles run: one thread per image. None is decoded twice.
sharp.concurrency(1)
sharp.cache(false)

const kernels = {
  nearest: sharp.kernel.nearest,
  bilinear: sharp.kernel.linear,
  bicubic: sharp.kernel.cubic,
  lanczos3: sharp.kernel.lanczos3,
} as const

export class Preprocessor {
  /** Values of one image in the tensor. */
  readonly valueCount: number
  readonly #options: PreprocessOptions
  readonly #size: Size
  /** In the order of the tensor: the channel's offset in a pixel, and the value of each byte. */
  readonly #channels: readonly { readonly source: number; readonly values: Float32Array }[]

  constructor(options: PreprocessOptions) {
    this.#options = options
    this.#size = pixelSize(options)
    this.valueCount = this.#size.width * this.#size.height * channelCount
    this.#channels = Array.from({ length: channelCount }, (_, channel) => ({
      source: options.channels === 'rgb' ? channel : channelCount - 1 - channel,
      values: byteValues(options, channel),
    }))
  }

  /** The image in the tensor. Rejects bytes that are not a valid JPEG. */
  async tensorOf(jpeg: Uint8Array): Promise<Float32Array> {
    const target = new Float32Array(this.valueCount)
    const pixels = await this.#pixels(jpeg)
    const count = this.#size.width * this.#size.height
    const isPlanar = this.#options.layout === 'nchw'
    this.#channels.forEach(({ source, values }, channel) => {
      const step = isPlanar ? 1 : channelCount
      let to = isPlanar ? channel * count : channel
      for (let pixel = 0, from = source; pixel < count; pixel++, from += channelCount, to += step) {
        target[to] = values[pixels[from] as number] as number
      }
    })
    return target
  }

  /** RGB, three bytes per pixel, row by row. */
  async #pixels(jpeg: Uint8Array): Promise<Uint8Array> {
    const image = sharp(jpeg)
    const scaled = await this.#scaledSize(image)
    const { width, height } = this.#size
    const { data, info } = await image
      .resize({
        ...scaled,
        fit: 'fill',
        kernel: kernels[this.#options.interpolation],
        // The training's resize reads every pixel; a decoder that shrinks on load does not.
        fastShrinkOnLoad: false,
      })
      .extract({
        left: Math.floor((scaled.width - width) / 2),
        top: Math.floor((scaled.height - height) / 2),
        width,
        height,
      })
      .toColourspace('srgb')
      .raw()
      .toBuffer({ resolveWithObject: true })
    if (info.channels !== channelCount) throw new Error(`the image has ${info.channels} channels`)
    return data
  }

  /** As torchvision and Hugging Face do: the longer edge is rounded down. */
  async #scaledSize(image: Sharp): Promise<Size> {
    const { resize } = this.#options
    if (!('shortest_edge' in resize)) return resize
    const { width, height } = await image.metadata()
    const { shortest_edge: shortestEdge } = resize
    return width <= height
      ? { width: shortestEdge, height: Math.floor((shortestEdge * height) / width) }
      : { width: Math.floor((shortestEdge * width) / height), height: shortestEdge }
  }
}

/** The value of each byte of a channel in the tensor. */
function byteValues({ scale, mean, std }: PreprocessOptions, channel: number): Float32Array {
  const [middle, spread] = [mean[channel] as number, std[channel] as number]
  return Float32Array.from({ length: byteCount }, (_, byte) => (byte * scale - middle) / spread)
}
