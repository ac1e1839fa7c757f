/**
 * What the model asks of a logger; pino's is one.
 */
export interface ModelLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
