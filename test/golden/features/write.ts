/**
 * Writes the golden file of the current catalogue version, or adds new features to it:
 * `scripts/pinned node --import ./test/sim/sources.mjs test/golden/features/write.ts`. Refuses to change what the file
 * has: a changed feature needs a new name, or the catalogue a new version.
 */
import { writeFileSync } from 'node:fs'
import { nativeCodec } from '../../../src/codec/codec.js'
import { loadAddon } from '../../../src/codec/native-addon.js'
import { catalogue, catalogueVersion } from '../../../src/model/features/catalogue.js'
import { bitsOf, goldenFile, readGoldenFeatures, valuesOf, type GoldenFeature } from './golden-features.js'

const codec = nativeCodec(loadAddon())
const written = new Map(
  readGoldenFeatures(catalogueVersion)?.features.map((feature) => [feature.name, feature]),
)
const features = catalogue.map((feature): GoldenFeature => {
  const { name, formula, missing } = feature
  return { name, formula, missing, bits: bitsOf(feature, codec), values: valuesOf(name) }
})
for (const [name, before] of written) {
  const now = features.find((feature) => feature.name === name)
  if (JSON.stringify(now) !== JSON.stringify(before))
    throw new Error(`${name} of catalogue version ${catalogueVersion} has changed: see the head of this file`)
}
const lines = features.map((feature) => JSON.stringify(feature)).join(',\n')
writeFileSync(
  goldenFile(catalogueVersion),
  `{"catalogue_version":${catalogueVersion},"features":[\n${lines}\n]}\n`,
)
