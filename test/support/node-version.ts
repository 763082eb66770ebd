/** The source is TypeScript that Node itself runs, so an older Node on the PATH would test something else. */
export default function demandNode24(): void {
  const [major = 0] = process.versions.node.split('.').map(Number);
  if (major < 24) throw new Error(`Node ${process.version} runs the tests; they need 24. Use \`npm test\`.`);
}
