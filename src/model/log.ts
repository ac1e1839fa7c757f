/**
 * The logger of a model, such as pino's.
 */
export interface ModelLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
