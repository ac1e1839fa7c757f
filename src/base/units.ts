/** Units as numbers: spans in milliseconds, sizes in bytes. Browsers load this file too. */
export const secondMs = 1000
export const minuteMs = 60 * secondMs
export const hourMs = 60 * minuteMs
export const dayMs = 24 * hourMs

export const kibibyte = 1024
export const mebibyte = 1024 * kibibyte
export const gibibyte = 1024 * mebibyte
