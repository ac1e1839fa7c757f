/**
 * Statistics of the values that an image encoder reads, per channel, for a comparison with the image library of the training.
 */
import type { ImageSettings } from '../package/settings.js'
import { inputShape } from './image-ports.js'
import type { PixelValues } from './preprocess.js'

export interface PixelStatistics {
  /** Shape of the tensor of this image: [1, 3, height, width] or [1, height, width, 3]. */
  readonly shape: readonly number[]
  /** Channels in the order of the tensor. */
  readonly channels: readonly ChannelStatistics[]
}

export interface ChannelStatistics {
  readonly channel: 'red' | 'green' | 'blue'
  readonly mean: number
  /** The population's, as `numpy.std` computes it. */
  readonly std: number
  readonly min: number
  readonly max: number
}

type TensorForm = Pick<ImageSettings, 'resize' | 'crop' | 'layout' | 'channels'>

export function pixelStatistics(tensor: PixelValues, form: TensorForm): PixelStatistics {
  const names = ['red', 'green', 'blue'] as const
  const order = form.channels === 'rgb' ? names : names.toReversed()
  const pixelCount = tensor.length / order.length
  const [start, step] = form.layout === 'nchw' ? [pixelCount, 1] : [1, order.length]
  return {
    shape: inputShape(form, 1),
    channels: order.map((channel, index) => ({
      channel,
      ...statistics(Float64Array.from({ length: pixelCount }, (_, at) => tensor[index * start + at * step]!)),
    })),
  }
}

function statistics(values: Float64Array): Omit<ChannelStatistics, 'channel'> {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length
  const min = values.reduce((least, value) => Math.min(least, value), Infinity)
  const max = values.reduce((most, value) => Math.max(most, value), -Infinity)
  return { mean, std: Math.sqrt(variance), min, max }
}
