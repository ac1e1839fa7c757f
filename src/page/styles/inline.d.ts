/** A style sheet that Vite puts into the script as a text. */
declare module '*.css?inline' {
  const text: string
  export default text
}
