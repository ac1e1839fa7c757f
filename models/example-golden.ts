/**
 * Golden cases of `example-1`: rows, texts and images with the expected heads. The heads were computed from the same files
 * without this project: with Hugging Face's `tokenizers` 0.23.2, Pillow 12.3 and Python's `onnxruntime` 1.30, and with the
 * text of each body reduced by hand.
 */

/** A JPEG with the height of the encoder's input, so that it is not resized: colour gradients, 48 x 32. */
const slope =
  '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAoHBwgHBgoICAgLCgoLDhgQDg0NDh0VFhEYIx8lJCIfIiEmKzcvJik0KSEiMEExNDk7' +
  'Pj4+JS5ESUM8SDc9Pjv/2wBDAQoLCw4NDhwQEBw7KCIoOzs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7' +
  'Ozs7Ozs7Ozv/wAARCAAgADADAREAAhEBAxEB/8QAFwABAQEBAAAAAAAAAAAAAAAABAMGBf/EABcQAAMBAAAAAAAAAAAAAAAAAAAC' +
  'BGH/xAAWAQEBAQAAAAAAAAAAAAAAAAAEAwb/xAAXEQEBAQEAAAAAAAAAAAAAAAACAAED/9oADAMBAAIRAxEAPwDopRoLRYkc66Ua' +
  'T0TRzkJRpLRNHOQlGk9Ewc66UaT0TRzkJRpLRNHOwyUaaHRYwCulGktE0CQlGk9E0CQlGk9E0CulGktE0CQlGk9EwCwyUaaDRY0C' +
  'QlGk9E0CulGk9EwCQlGktE0CQlGk9E0CulGk9E0CwyUaaDRYwc5CUaT0TRzkJRpLRNHOulGk9E0c5CUaT0TBzrpRpLRNHO//2Q=='

/** A JPEG that must be downscaled: a yellow ball on blue, 40 x 64. */
const ball =
  '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAoHBwgHBgoICAgLCgoLDhgQDg0NDh0VFhEYIx8lJCIfIiEmKzcvJik0KSEiMEExNDk7' +
  'Pj4+JS5ESUM8SDc9Pjv/2wBDAQoLCw4NDhwQEBw7KCIoOzs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7' +
  'Ozs7Ozs7Ozv/wAARCABAACgDAREAAhEBAxEB/8QAGQABAAMBAQAAAAAAAAAAAAAAAAEFBgcE/8QALRAAAQMDAgQDCQEAAAAAAAAA' +
  'AQACAwQFEQYhEjFBURQWoSJCU1RhkZKj0dL/xAAbAQEAAgMBAQAAAAAAAAAAAAAABAUCBgcBA//EAC0RAAIBAgQFAwIHAAAAAAAA' +
  'AAABAgMRBAUhQRIxUWGRFKHRBhMVFlJTcYGx/9oADAMBAAIRAxEAPwDJLYLEIJYBLAJYBLAlZ2Be2HTM13HiJnmClBwHYyZN9wPX' +
  'fv33xR5nnFPBP7cFxT9l0v8AHTdaXlUMM6ur0Rf+RrX8er/Nv+Vr/wCZMX+mPh/JL9FT6sp77pGS3QuqqKR88Dd3scPbYMc9uY59' +
  'Bj7lXGW55HEzVKslGT5PZ9uz6au/hEavhXBcUdUZtbJYhnooIG1Vwpqd5IZLK1ji3mASBsvniqjo0J1I84pvwjKEVKaT3OrsY2Nj' +
  'WMaGsaMNa0YAHYLk0pOTcpO7ZfpJKyJWJ6EBzLUNLFR32qghHDGHBwGwA4gDgY6brqGU1p18FTqT52t4bXnTUo8RFRqtI89tlZT3' +
  'OlmldwxxzMc44zgBwJUzGUpVMNUhBXbi0v5aPnTajNN9Tqq5GbAEAQHNdTSsm1FVvjdxNDg0nHUNAPqCun5LTlDL6aktm/6bbXsy' +
  'jxLTqysVaurEc02ntVeBiFHX8b4W4EcgGSwdj3HqOW/TVc3yD1EnXw1lLdbPuu/s+emt52HxXAuGfI0PmuyfO/qf/FrX4BmX7fvH' +
  '5JvqqPX/AEp75rBj4XU1rc/LtnTkcOBj3eufrtjp3F3lf07KM1VxaWnKPPXvtbtrffo41fGJrhp+TILdLFaSs7AJYBLAJYBLAlZ2' +
  'PAlgEsAlgEsCVnYBLAJYBLAJYH//2Q=='

/** Feature values of a typical post, in the order of the manifest. */
const typical = [6, 2.5, 1, 2.5, 0, 0.03, 0.03, 0.9, 3, 1.6, 3, 0.9, 0.9, 0.9, 0.8, 0.7, 0.8, 0.4]
/** No reading, no snapshot, no body; only `views_missing` is 1. */
const missing = typical.map((_, column) => (column === 4 ? 1 : 0))
const late = [8.2, 4.6, 1.4, 4.1, 0, 0.027, 0.016, 1, 4.4, 2.9, 3.2, 0, 1, 0, 0, 0, 0, 1]

export interface ExampleCase {
  readonly name: string
  readonly row: readonly number[]
  readonly record?: { readonly title: string; readonly body_html?: string }
  /** Files of `exampleImages`. */
  readonly images?: readonly string[]
  /** Expected p_views, p_comments, p_up and downvote_share. */
  readonly heads: readonly number[]
}

/** Images of the cases, by file name in the package. */
export const exampleImages: { readonly [file: string]: Uint8Array } = {
  'golden/slope.jpg': Buffer.from(slope, 'base64'),
  'golden/ball.jpg': Buffer.from(ball, 'base64'),
}

/** The names of the cases are part of the package's bytes. */
export const exampleCases: readonly ExampleCase[] = [
  {
    name: 'a title, a body and a picture',
    row: typical,
    record: { title: '오늘 진짜 ㅋㅋㅋ 대박이네', body_html: '<p>사진 봐라<br>내일 영화 추천</p>' },
    images: ['golden/slope.jpg'],
    heads: [0.372769, 0.25493, 0.511325, 0.523476],
  },
  {
    name: 'everything missing',
    row: missing,
    heads: [0.736551, 0.204959, 0.316319, 0.249079],
  },
  {
    name: 'a title alone, late',
    row: late,
    record: { title: 'Hello, 한글1234 안녕_하' },
    heads: [0.54131, 0.25885, 0.603624, 0.5304],
  },
  {
    name: 'two pictures, the text too late',
    row: typical,
    images: ['golden/slope.jpg', 'golden/ball.jpg'],
    heads: [0.483145, 0.290041, 0.539888, 0.491226],
  },
]
