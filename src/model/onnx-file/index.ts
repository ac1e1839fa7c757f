/**
 * ONNX files read without a session: versions, inputs, outputs, operators.
 */
export {
  portText,
  readOnnx,
  type OnnxFile,
  type OnnxOperator,
  type OnnxOpset,
  type OnnxPort,
} from './onnx-file.js'
